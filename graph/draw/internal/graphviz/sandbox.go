package graphviz

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// maxPages limits the module's memory, in pages of 64 KiB: 512 MiB.
const maxPages = 8192

// sandbox is one running copy of the module, with no file, variable or clock of
// the machine in reach. The first failure stays in err; later calls do nothing
// and give zero.
type sandbox struct {
	ctx     context.Context
	runtime wazero.Runtime
	module  api.Module
	log     limitedLog
	err     error
}

func open(ctx context.Context) (*sandbox, error) {
	cfg := wazero.NewRuntimeConfigInterpreter().
		WithMemoryLimitPages(maxPages).
		WithCloseOnContextDone(true).
		WithDebugInfoEnabled(false)
	s := &sandbox{ctx: ctx, runtime: wazero.NewRuntimeWithConfig(ctx, cfg)}
	if err := s.start(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sandbox) start() error {
	compiled, err := s.runtime.CompileModule(s.ctx, wasm)
	if err != nil {
		return err
	}
	if err := s.refuseCallbacks(compiled); err != nil {
		return err
	}
	if _, err := wasi_snapshot_preview1.Instantiate(s.ctx, s.runtime); err != nil {
		return err
	}
	s.module, err = s.runtime.InstantiateModule(s.ctx, compiled,
		wazero.NewModuleConfig().WithStdout(&s.log).WithStderr(&s.log))
	return err
}

// refuseCallbacks satisfies the module's imports for plugins written in Go,
// which are not used here.
func (s *sandbox) refuseCallbacks(compiled wazero.CompiledModule) error {
	const host = "env"
	env := s.runtime.NewHostModuleBuilder(host)
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if module != host {
			continue
		}
		refuse := func(context.Context, api.Module, []uint64) { panic("callback " + name + " is not offered") }
		env.NewFunctionBuilder().
			WithGoModuleFunction(api.GoModuleFunc(refuse), f.ParamTypes(), f.ResultTypes()).
			Export(name)
	}
	_, err := env.Instantiate(s.ctx)
	return err
}

// close frees all of it; there is nothing to lose.
func (s *sandbox) close() { _ = s.runtime.Close(context.Background()) }

// call runs one of the module's functions; addresses and numbers have 32 bits.
func (s *sandbox) call(name string, args ...uint32) uint32 {
	if s.err != nil {
		return 0
	}
	f := s.module.ExportedFunction(name)
	if f == nil {
		s.err = fmt.Errorf("the module has no function %s", name)
		return 0
	}
	wide := make([]uint64, len(args))
	for i, a := range args {
		wide[i] = uint64(a)
	}
	out, err := f.Call(s.ctx, wide...)
	if err != nil {
		s.err = fmt.Errorf("%s: %w", name, err)
		return 0
	}
	if len(out) == 0 {
		return 0
	}
	return uint32(out[0])
}

// text copies a text into the module's memory, as C has it.
func (s *sandbox) text(t []byte) uint32 {
	p := s.call("malloc", uint32(len(t)+1))
	s.store(p, append(t[:len(t):len(t)], 0))
	return p
}

func (s *sandbox) store(p uint32, b []byte) {
	if s.err == nil && (p == 0 || !s.module.Memory().Write(p, b)) {
		s.err = fmt.Errorf("no room for %d bytes at %#x", len(b), p)
	}
}

// bytes gives a view into the module's memory.
func (s *sandbox) bytes(p, n uint32) []byte {
	if s.err != nil {
		return nil
	}
	b, ok := s.module.Memory().Read(p, n)
	if !ok {
		s.err = fmt.Errorf("no %d bytes at %#x", n, p)
	}
	return b
}

func (s *sandbox) word(p uint32) uint32 {
	b := s.bytes(p, 4)
	if len(b) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// global gives the address of one of the module's variables.
func (s *sandbox) global(name string) uint32 {
	if s.err != nil {
		return 0
	}
	g := s.module.ExportedGlobal(name)
	if g == nil {
		s.err = fmt.Errorf("the module has no variable %s", name)
		return 0
	}
	return uint32(g.Get())
}

// limitedLog keeps the beginning of what the module prints.
type limitedLog struct{ b []byte }

const maxLog = 4096

func (l *limitedLog) Write(p []byte) (int, error) {
	l.b = append(l.b, p[:min(len(p), maxLog-len(l.b))]...)
	return len(p), nil
}

func (l *limitedLog) Len() int       { return len(l.b) }
func (l *limitedLog) String() string { return string(l.b) }
