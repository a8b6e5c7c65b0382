package cuda

import (
	"fmt"
	"strings"
	"unsafe"
)

// Driver is an initialised CUDA driver.
type Driver struct {
	api     *API
	version int
	devices []*Device
}

// Device is one GPU, by the ordinal that CUDA_VISIBLE_DEVICES leaves it.
type Device struct {
	drv     *Driver
	handle  int32
	Ordinal int
	Name    string
	UUID    [16]byte
	BusID   string // domain:bus:device.function, lower case
	Major   int    // compute capability
	Minor   int
	SMs     int
	Memory  uint64 // bytes
	// Cooperative says that launches can demand that all blocks run at once.
	Cooperative bool
}

// New initialises a driver that is reached through api.
func New(api *API) (*Driver, error) {
	d := &Driver{api: api}
	if err := d.check("cuInit", api.Init(0), ""); err != nil {
		return nil, err
	}
	var v, n int32
	if err := d.check("cuDriverGetVersion", api.DriverGetVersion(&v), ""); err != nil {
		return nil, err
	}
	d.version = int(v)
	if err := d.check("cuDeviceGetCount", api.DeviceGetCount(&n), ""); err != nil {
		return nil, err
	}
	for i := range int(n) {
		dev, err := d.device(i)
		if err != nil {
			return nil, err
		}
		d.devices = append(d.devices, dev)
	}
	return d, nil
}

// Version is the CUDA version that the driver implements: 13000 is 13.0.
func (d *Driver) Version() int { return d.version }

// Devices lists the GPUs.
func (d *Driver) Devices() []*Device { return d.devices }

// Device gives the GPU with an ordinal, or an error that wraps ErrNoDevice.
func (d *Driver) Device(ordinal int) (*Device, error) {
	if ordinal < 0 || ordinal >= len(d.devices) {
		return nil, fmt.Errorf("%w: GPU %d was asked for, this process sees %d (CUDA_VISIBLE_DEVICES)", ErrNoDevice, ordinal, len(d.devices))
	}
	return d.devices[ordinal], nil
}

func (d *Driver) device(ordinal int) (*Device, error) {
	dev := &Device{drv: d, Ordinal: ordinal}
	if err := d.check("cuDeviceGet", d.api.DeviceGet(&dev.handle, int32(ordinal)), "GPU %d", ordinal); err != nil {
		return nil, err
	}
	var name, bus [256]byte
	if err := d.check("cuDeviceGetName", d.api.DeviceGetName(&name[0], 256, dev.handle), ""); err != nil {
		return nil, err
	}
	if err := d.check("cuDeviceGetPCIBusId", d.api.DeviceGetPCI(&bus[0], 256, dev.handle), ""); err != nil {
		return nil, err
	}
	dev.Name, dev.BusID = cString(&name[0]), strings.ToLower(cString(&bus[0]))
	if err := d.check("cuDeviceGetUuid", d.api.DeviceGetUUID(&dev.UUID, dev.handle), ""); err != nil {
		return nil, err
	}
	if err := d.check("cuDeviceTotalMem", d.api.DeviceTotalMem(&dev.Memory, dev.handle), ""); err != nil {
		return nil, err
	}
	return dev, dev.attributes()
}

func (v *Device) attributes() error {
	coop := 0
	for attr, to := range map[Attribute]*int{AttrMajor: &v.Major, AttrMinor: &v.Minor, AttrSMs: &v.SMs, AttrCooperative: &coop} {
		x, err := v.Attribute(attr)
		if err != nil {
			return err
		}
		*to = x
	}
	v.Cooperative = coop != 0
	return nil
}

// Attribute asks the driver for a number.
func (v *Device) Attribute(a Attribute) (int, error) {
	var x int32
	err := v.drv.check("cuDeviceGetAttribute", v.drv.api.DeviceAttribute(&x, a, v.handle), "attribute %d of GPU %d", a, v.Ordinal)
	return int(x), err
}

// CanAccess says whether the driver would let this GPU address a peer's memory.
// Some platforms say yes and corrupt or hang: prove it before use.
func (v *Device) CanAccess(peer *Device) (bool, error) {
	var can int32
	err := v.drv.check("cuDeviceCanAccessPeer", v.drv.api.DeviceCanAccess(&can, v.handle, peer.handle), "GPU %d to %d", v.Ordinal, peer.Ordinal)
	return can != 0, err
}

func cString(p *byte) string {
	var b []byte
	for ; *p != 0; p = (*byte)(unsafe.Add(unsafe.Pointer(p), 1)) {
		b = append(b, *p)
	}
	return string(b)
}

// NativeAtomics says whether atomic operations of this GPU on a peer's memory
// are done by the link itself, as NVLink does.
func (v *Device) NativeAtomics(peer *Device) bool {
	const nativeAtomics = 3
	var x int32
	return v.drv.api.DeviceP2P(&x, nativeAtomics, v.handle, peer.handle) == success && x != 0
}
