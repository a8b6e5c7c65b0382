// Package graphviz runs the Graphviz of github.com/goccy/go-graphviz inside a
// sandbox, only when a picture is asked for.
//
// That module carries Graphviz as WebAssembly and compiles it to native code in
// its package initialisation: every process that links it pays for that, and
// keeps the code in a shared temporary folder, where another user can plant
// code or spoil the file. This package takes the WebAssembly alone (the same
// bytes; a test compares them, and the pictures, with the module's) and
// interprets it: nothing happens before the first call, nothing is compiled to
// native code, nothing is read from or written to a disk, and calls may run at
// the same time.
package graphviz

//go:generate sh -c "cp -f \"$(go list -m -f '{{.Dir}}' github.com/goccy/go-graphviz)/internal/wasm/graphviz.wasm\" graphviz.wasm && chmod 644 graphviz.wasm"
