// Package plan says what AllReduces become: which algorithm, protocol, channels
// and threads, and which stretch of a message each channel moves in chunks of
// which size.
//
// [NewTuning] computes the cost tables of a communicator; [Tuning.Choose] picks
// from them; a [Planner] lays a group of [Task] over channels and gives one
// [Launch] per kernel: the allreduce.Plan that an executor runs, and how every
// number of it came about. All of it equals what NCCL 2.22.3 decides, in the
// same single and double precision arithmetic.
package plan
