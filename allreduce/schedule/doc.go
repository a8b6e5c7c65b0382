// Package schedule says who sends which chunk when in a Ring AllReduce.
//
// Three coordinate systems meet here, each with its own type: the user rank of
// a communicator ([Rank]), the place in one channel's ring ([Position], counted
// from rank 0 along the flow of data), and the index of a chunk ([Chunk], by
// position and never by user rank: the rank at position i finishes chunk i).
// [Ring] translates between them; [Step] is the primitive of a position;
// [Loop] is where a chunk lies; [Rows] puts them together, and [Check] proves a
// schedule by carrying it out.
package schedule
