package machinejson

import (
	"fmt"
	"strconv"

	"github.com/ringtopo/ringtopo/topo"
)

// Schema names the format.
const Schema = "ringtopo.machine/v1"

// Machine is the format. Values that JSON numbers cannot hold are hexadecimal
// texts; bus ids have the form 0000:3b:00.0.
type Machine struct {
	Schema  string   `json:"schema"`
	Name    string   `json:"name,omitempty"`
	CPUs    []CPU    `json:"cpus"`
	Assumed []string `json:"assumed,omitempty"`
}

// CPU is a NUMA domain.
type CPU struct {
	Host     hex      `json:"host,omitempty"`
	NUMA     int      `json:"numa"`
	Affinity string   `json:"affinity,omitempty"`
	Arch     string   `json:"arch"`             // x86_64, arm64, ppc64
	Vendor   string   `json:"vendor,omitempty"` // of x86: GenuineIntel, AuthenticAMD, CentaurHauls
	Model    string   `json:"model,omitempty"`  // broadwell, skylake, yongfeng
	Devices  []Device `json:"devices"`
}

// Device is a PCI function, a switch, or a NIC without a PCI device.
type Device struct {
	BusID    busID    `json:"busId,omitempty"`
	Class    string   `json:"class,omitempty"` // switch, nvswitch, cpu, gpu, nic
	Virtual  bool     `json:"virtual,omitempty"`
	SwitchID hex      `json:"switchId,omitempty"`
	LaneMbps int      `json:"laneMbps,omitempty"` // 8 GT/s is 6000
	Lanes    int      `json:"lanes,omitempty"`
	Peers    []busID  `json:"peers,omitempty"`
	GPU      *GPU     `json:"gpu,omitempty"`
	Nets     []Net    `json:"nets,omitempty"`
	Devices  []Device `json:"devices,omitempty"`
}

// GPU is a GPU that takes part in a job.
type GPU struct {
	Rank    int      `json:"rank"`
	Dev     int      `json:"dev"`
	SM      int      `json:"sm"`
	GDR     bool     `json:"gdr"`
	NVLinks []NVLink `json:"nvlinks,omitempty"`
	C2Cs    []C2C    `json:"c2c,omitempty"`
}

// NVLink is a bundle of links to one target.
type NVLink struct {
	Target busID  `json:"target"`
	Class  string `json:"class"`
	Count  int    `json:"count"`
}

// C2C is a chip-to-chip bundle between a GPU and its CPU.
type C2C struct {
	Count int `json:"count"`
	MBps  int `json:"mbPerSecond"`
}

// Net is one network device.
type Net struct {
	Name    string  `json:"name,omitempty"`
	Dev     int     `json:"dev"`
	Mbps    int     `json:"mbps"`
	Port    int     `json:"port"`
	Asic    *hex    `json:"asic,omitempty"` // absent: the device number
	Latency float32 `json:"latency"`
	GDR     bool    `json:"gdr"`
	Coll    bool    `json:"coll,omitempty"`
	MaxConn int     `json:"maxConn"`
}

// hex is a number of 64 bits as text.
type hex uint64

// MarshalText implements encoding.TextMarshaler.
func (h hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hex) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 0, 64)
	if err != nil {
		return fmt.Errorf("%.40q is not a number of 64 bits such as 0x1f", text)
	}
	*h = hex(v)
	return nil
}

// busID is a PCI address as text.
type busID topo.BusID

// MarshalText implements encoding.TextMarshaler.
func (b busID) MarshalText() ([]byte, error) { return []byte(topo.BusID(b).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *busID) UnmarshalText(text []byte) error {
	v := topo.ParseBusID(string(text))
	if busID(v) == 0 && len(text) > 0 && text[0] != '0' {
		return fmt.Errorf("%.40q is not a bus id such as 0000:3b:00.0", text)
	}
	*b = busID(v)
	return nil
}
