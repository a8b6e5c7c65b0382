package cuda

import (
	"errors"
	"fmt"
	"io"
)

// Errors that callers decide on.
var (
	ErrNoDriver  = errors.New("no CUDA driver on this machine")
	ErrNoDevice  = errors.New("the CUDA driver finds no GPU")
	ErrOldDriver = errors.New("the CUDA driver is too old")
)

// Result is the driver's error number; 0 is success.
type Result int32

// Results that callers decide on.
const (
	success          Result = 0
	OutOfMemory      Result = 2
	notInitialized   Result = 3
	stubLibrary      Result = 34
	noDevice         Result = 100
	invalidDevice    Result = 101
	InvalidPTX       Result = 218
	UnsupportedPTX   Result = 222
	NotReady         Result = 600
	PeerEnabled      Result = 704
	LaunchFailed     Result = 719
	CoopTooLarge     Result = 720
	systemNotReady   Result = 802
	systemDriverMism Result = 803
)

// Error is a call that the driver refused.
type Error struct {
	Call   string // the driver's function
	Code   Result
	Name   string // the driver's name of the code
	Text   string // its description
	Detail string // what was asked for
	Log    string // the compiler's log, printed with %+v
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, e.Code)
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Detail != "" {
		s += " [" + e.Detail + "]"
	}
	return s
}

// Format prints the compiler's log too with %+v.
func (e *Error) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, e.Error())
	if verb == 'v' && f.Flag('+') && e.Log != "" {
		_, _ = io.WriteString(f, "\n"+e.Log)
	}
}

// Unwrap lets errors.Is find ErrNoDevice.
func (e *Error) Unwrap() error {
	switch e.Code {
	case noDevice, systemNotReady:
		return ErrNoDevice
	case stubLibrary:
		return ErrNoDriver
	case systemDriverMism, UnsupportedPTX:
		return ErrOldDriver
	}
	return nil
}

// Is lets errors.Is compare codes.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Call == ""
}

// HasCode says whether err is a refusal with this code.
func HasCode(err error, code Result) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// check turns a result into an error.
func (d *Driver) check(call string, r Result, detail string, args ...any) error {
	if r == success {
		return nil
	}
	e := &Error{Call: call, Code: r, Name: d.text(d.api.GetErrorName, r), Text: d.text(d.api.GetErrorString, r)}
	if e.Name == "" {
		e.Name = "unknown error"
	}
	if detail != "" {
		e.Detail = fmt.Sprintf(detail, args...)
	}
	return e
}

func (d *Driver) text(get func(Result, **byte) Result, r Result) string {
	var p *byte
	if get == nil || get(r, &p) != success || p == nil {
		return ""
	}
	return cString(p)
}
