// Package launch starts one process per rank, or finds the others where an
// outside launcher (mpirun, srun, torchrun) has started them, and tells every
// process when another is gone.
//
// A parent calls [Start]; the same program, started again, calls [Child] first
// of all and runs the worker that it is asked for. Processes that somebody else
// started call [FromEnv] and [Join]. Either way a [Rank] can exchange data and
// open files with the others. Sockets are unnamed pairs, or lie in a directory
// that only their user can enter; memory from [Memory] has no name and goes
// when the last process does.
package launch
