package machinejson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ringtopo/ringtopo/topo"
)

// maxBytes is the largest file that is read: far more than the largest machine
// needs.
const maxBytes = 64 << 20

// Decode reads a machine. The name of the file is for messages. Names that the
// format does not have are refused, so that a misspelled one is not lost.
func Decode(r io.Reader, name string) (*topo.System, error) {
	text, err := readAll(r, name, maxBytes)
	if err != nil {
		return nil, err
	}
	return decode(text, name)
}

func readAll(r io.Reader, name string, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s: more than %d bytes: this is not a machine", name, most)
	}
	return text, nil
}

func decode(text []byte, name string) (*topo.System, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, place(err, name, text)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("%s: the schema is %.40q; a machine has %q, as ringtopo machines show NAME -o json writes it", name, head.Schema, Schema)
	}
	var m Machine
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return nil, place(err, name, text)
	}
	sys, err := m.System()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return sys, nil
}

// place adds file and, where it is known, line to an error.
func place(err error, name string, text []byte) error {
	offset := int64(-1)
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &typ):
		offset = typ.Offset
	}
	if offset < 0 {
		return fmt.Errorf("%s: %w", name, err)
	}
	line := 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n"))
	return fmt.Errorf("%s:%d: %w", name, line, err)
}

// System turns the format back into a machine.
func (m *Machine) System() (*topo.System, error) {
	sys := &topo.System{}
	for i, c := range m.CPUs {
		cpu, err := c.cpu()
		if err != nil {
			return nil, fmt.Errorf("cpu %d (NUMA %d): %w", i, c.NUMA, err)
		}
		sys.CPUs = append(sys.CPUs, cpu)
	}
	for _, a := range m.Assumed {
		sys.Assumed = append(sys.Assumed, topo.Assumption{What: a})
	}
	return sys, nil
}

func (c *CPU) cpu() (cpu topo.CPU, err error) {
	cpu = topo.CPU{Host: uint64(c.Host), NUMA: c.NUMA, Affinity: c.Affinity}
	if cpu.Arch, err = archWords().value(c.Arch); err != nil {
		return cpu, err
	}
	if cpu.Vendor, err = vendorWords().value(c.Vendor); err != nil {
		return cpu, err
	}
	if cpu.Model, err = modelWords(cpu.Vendor).value(c.Model); err != nil {
		return cpu, err
	}
	cpu.Devices, err = devices(c.Devices)
	return cpu, err
}

func devices(list []Device) ([]topo.Device, error) {
	var out []topo.Device
	for i := range list {
		d, err := list[i].device()
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", topo.BusID(list[i].BusID), err)
		}
		out = append(out, d)
	}
	return out, nil
}

func (d *Device) device() (out topo.Device, err error) {
	out = topo.Device{
		BusID: topo.BusID(d.BusID), Virtual: d.Virtual, SwitchID: uint64(d.SwitchID),
		Speed: d.LaneMbps / mbpsPerUnit, Width: d.Lanes,
	}
	if out.Class, err = classWords().value(d.Class); err != nil {
		return out, err
	}
	if d.Virtual && (out.Class != topo.ClassNIC || d.GPU != nil || len(d.Devices) > 0) {
		return out, errors.New("it is virtual, as only a NIC can be: give it the class nic, and neither a GPU nor devices below it")
	}
	for _, p := range d.Peers {
		out.Peers = append(out.Peers, topo.BusID(p))
	}
	if d.GPU != nil {
		if out.GPU, err = d.GPU.gpu(); err != nil {
			return out, err
		}
	}
	if len(d.Nets) > 0 || out.Class == topo.ClassNIC {
		out.NIC = &topo.NIC{}
		for i := range d.Nets {
			out.NIC.Nets = append(out.NIC.Nets, d.Nets[i].net())
		}
	}
	out.Devices, err = devices(d.Devices)
	return out, err
}

func (g *GPU) gpu() (*topo.GPU, error) {
	out := &topo.GPU{Rank: g.Rank, Dev: g.Dev, SM: g.SM, GDR: g.GDR}
	for _, l := range g.NVLinks {
		class, err := classWords().value(l.Class)
		if err != nil {
			return nil, fmt.Errorf("NVLink to %s: %w", topo.BusID(l.Target), err)
		}
		out.NVLinks = append(out.NVLinks, topo.NVLink{Target: topo.BusID(l.Target), Class: class, Count: l.Count})
	}
	for _, c := range g.C2Cs {
		out.C2Cs = append(out.C2Cs, topo.C2C(c))
	}
	return out, nil
}

func (n *Net) net() topo.Net {
	asic := int64(n.Dev)
	if n.Asic != nil {
		asic = int64(*n.Asic)
	}
	return topo.Net{
		Name: n.Name, Dev: n.Dev, Mbps: n.Mbps, Port: n.Port, Asic: asic, Latency: n.Latency,
		GDR: n.GDR, Coll: n.Coll, MaxConn: n.MaxConn,
	}
}
