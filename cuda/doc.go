// Package cuda is the part of the CUDA driver that ringtopo uses, opened at run
// time: nothing of CUDA is needed to build, and a machine without a driver gets
// [ErrNoDriver].
//
// A [Driver] lists [Device]s. [Device.Open] retains a device's primary context
// and gives it an operating system thread of its own; [Context.Do] runs a
// function there, and all other methods of a context and of what it made must
// be called inside such a function. Every failing call is an [*Error] that
// names the function, and for a module carries the compiler's log.
//
// The driver is reached through the [API], a table of functions. Tests replace
// it, see package cudafake.
package cuda
