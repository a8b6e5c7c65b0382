package cuda_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// Every call whose failure New must tell, by the driver's own name for it.
func TestNewTellsWhichCallFailed(t *testing.T) {
	for field, call := range map[string]string{
		"Init": "cuInit", "DriverGetVersion": "cuDriverGetVersion", "DeviceGetCount": "cuDeviceGetCount", "DeviceGet": "cuDeviceGet",
		"DeviceGetName": "cuDeviceGetName", "DeviceGetPCI": "cuDeviceGetPCIBusId", "DeviceGetUUID": "cuDeviceGetUuid",
		"DeviceTotalMem": "cuDeviceTotalMem", "DeviceAttribute": "cuDeviceGetAttribute",
	} {
		fake := cudafake.New(2)
		fake.Fail[field] = 999
		_, err := cuda.New(fake.API())
		var e *cuda.Error
		if !errors.As(err, &e) || e.Call != call || e.Code != 999 || e.Name != "CUDA_ERROR_FAKE" {
			t.Errorf("%s: %v, want %s to be named", field, err, call)
		}
	}
}

// An error in words: call, the driver's name and text, and what was asked for.
func TestErrorText(t *testing.T) {
	e := &cuda.Error{Call: "cuX", Code: 2, Name: "CUDA_ERROR_Y"}
	if got := e.Error(); got != "cuX: CUDA_ERROR_Y (2)" {
		t.Errorf("bare: %s", got)
	}
	e.Text, e.Detail, e.Log = "no memory", "5 bytes", "line 1"
	for format, want := range map[string]string{
		"%v": "cuX: CUDA_ERROR_Y (2): no memory [5 bytes]", "%s": "cuX: CUDA_ERROR_Y (2): no memory [5 bytes]",
		"%+v": "cuX: CUDA_ERROR_Y (2): no memory [5 bytes]\nline 1",
	} {
		if got := fmt.Sprintf(format, e); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	wrapped := fmt.Errorf("rank 3: %w", e)
	if !errors.Is(wrapped, &cuda.Error{Code: 2}) || errors.Is(wrapped, &cuda.Error{Code: 3}) || errors.Is(wrapped, &cuda.Error{Code: 2, Call: "cuZ"}) {
		t.Error("errors.Is does not go by the code")
	}
	if !cuda.HasCode(wrapped, cuda.OutOfMemory) || cuda.HasCode(nil, 0) || cuda.HasCode(errors.New("x"), 2) {
		t.Error("HasCode finds what is not there, or not what is")
	}
}

// Codes that say more than a failed call.
func TestWhatCodesMean(t *testing.T) {
	all := []error{cuda.ErrNoDriver, cuda.ErrNoDevice, cuda.ErrOldDriver}
	for code, want := range map[cuda.Result]error{
		34: cuda.ErrNoDriver, 100: cuda.ErrNoDevice, 802: cuda.ErrNoDevice, 803: cuda.ErrOldDriver, cuda.UnsupportedPTX: cuda.ErrOldDriver,
		cuda.OutOfMemory: nil, cuda.InvalidPTX: nil, cuda.LaunchFailed: nil,
	} {
		for _, kind := range all {
			if got := errors.Is(&cuda.Error{Code: code}, kind); got != (kind == want) {
				t.Errorf("%d is %q: %v", code, kind, got)
			}
		}
	}
}

// A driver that knows no name of a code.
func TestUnnamedCode(t *testing.T) {
	fake := cudafake.New(1)
	fake.Fail["Init"] = 4242
	api := fake.API()
	api.GetErrorName, api.GetErrorString = nil, func(cuda.Result, **byte) cuda.Result { return 1 }
	if _, err := cuda.New(api); err == nil || err.Error() != "cuInit: unknown error (4242)" {
		t.Errorf("%v", err)
	}
}

// A context that cannot be had gives back what it took.
func TestOpenFails(t *testing.T) {
	for field, released := range map[string]int{"PrimaryRetain": 0, "CtxSetCurrent": 1} {
		fake := cudafake.New(1)
		drv, err := cuda.New(fake.API())
		if err != nil {
			t.Fatal(err)
		}
		fake.Fail[field] = 999
		if _, err := drv.Devices()[0].Open(); !cuda.HasCode(err, 999) {
			t.Errorf("%s: %v", field, err)
		}
		if fake.Contexts() != 0 || fake.Count("PrimaryRelease") != released {
			t.Errorf("%s: %d contexts left, released %d times", field, fake.Contexts(), fake.Count("PrimaryRelease"))
		}
	}
}

// Where there is none, none is given: whoever frees what it has frees nothing.
func TestFailedQueuesAreNone(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	fake.Fail["StreamCreate"], fake.Fail["EventCreate"] = 2, 2
	err := c.Do(func() error {
		s, err := c.NewStream()
		e, err2 := c.NewEvent()
		if s != nil || e != nil {
			t.Errorf("a queue %v and a mark %v that were not made", s, e)
		}
		return errors.Join(err, err2)
	})
	if text := fmt.Sprint(err); !strings.Contains(text, "cuStreamCreate") || !strings.Contains(text, "cuEventCreate") {
		t.Errorf("got %v", err)
	}
}
