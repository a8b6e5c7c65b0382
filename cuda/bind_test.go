package cuda

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libc is a library that every Linux has, to bind functions of.
func libc(t *testing.T) uintptr {
	t.Helper()
	lib, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		t.Skip(err)
	}
	return lib
}

// bound binds one field to the first of symbols that there is.
func bound[F any](lib uintptr, symbols ...string) (f F, err error) {
	err = bindField(lib, reflect.ValueOf(&f).Elem(), symbols)
	return f, err
}

// Functions are bound by the first symbol that the library has, and called with
// all their words, through reflection or without.
func TestBind(t *testing.T) {
	lib := libc(t)
	plain, err := bound[func(int32) Result](lib, "no_such_v2", "abs")
	if err != nil || plain(-42) != 42 {
		t.Errorf("abs: %v", err)
	}
	three, err := bound[func(a, b unsafe.Pointer, n uint64) Result](lib, "memcmp")
	x, y := []byte("rings"), []byte("rinks")
	if err != nil || three(unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), 3) != 0 || three(unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), 4) >= 0 {
		t.Errorf("memcmp: %v", err)
	}
	runtime.KeepAlive(x)
	hot, err := bound[func(uintptr) Result](lib, "abs", "hot")
	if err != nil || hot(^uintptr(6)) != 7 {
		t.Errorf("abs without reflection: %v", err)
	}
	word := append([]byte("ring"), 0)
	hot2, err := bound[func(uintptr, uintptr) Result](lib, "strcmp", "hot")
	p := uintptr(unsafe.Pointer(&word[0]))
	if err != nil || hot2(p, p) != 0 || hot2(p, p+1) == 0 {
		t.Errorf("strcmp without reflection: %v", err)
	}
	runtime.KeepAlive(word)
	odd, err := bound[func(int32) Result](lib, "abs", "hot")
	if err != nil || odd(-5) != 5 {
		t.Errorf("a hot function of a shape that is not known: %v", err)
	}
}

// What a library lacks is an error with the remedy, unless it is optional.
func TestBindOldLibrary(t *testing.T) {
	lib := libc(t)
	if f, err := bound[func(int32) Result](lib, "no_such", "optional"); err != nil || f != nil {
		t.Errorf("an optional function: %v", err)
	}
	_, err := bound[func(int32) Result](lib, "no_such_v3", "no_such_v2")
	if !errors.Is(err, ErrOldDriver) || !strings.Contains(err.Error(), "lacks no_such_v3") || !strings.Contains(err.Error(), "install") {
		t.Errorf("got %v", err)
	}
	if bindLaunch(lib, "no_such", true) != nil {
		t.Error("a launch that the library does not have")
	}
	if _, err := bind(lib); !errors.Is(err, ErrOldDriver) || !strings.Contains(err.Error(), "cuInit") {
		t.Errorf("a library that is no driver: %v", err)
	}
}

// Every function of the table names a symbol of the driver, and none twice: but
// for launches, which are bound by hand.
func TestTable(t *testing.T) {
	seen := map[string]string{}
	for f := range reflect.TypeFor[API]().Fields() {
		tag := f.Tag.Get("cuda")
		if byHand := strings.HasPrefix(f.Name, "Launch"); byHand != (tag == "") {
			t.Errorf("%s has the tag %q", f.Name, tag)
			continue
		}
		for s := range strings.SplitSeq(tag, ",") {
			switch {
			case s == "" || s == "optional" || s == "hot":
			case !strings.HasPrefix(s, "cu") || seen[s] != "":
				t.Errorf("%s is bound to %s, as %s is", f.Name, s, seen[s])
			default:
				seen[s] = f.Name
			}
		}
		if strings.Contains(tag, "hot") && f.Type.NumIn() > 2 {
			t.Errorf("%s is hot and has %d words", f.Name, f.Type.NumIn())
		}
	}
}
