// Package job carries machines all the way to a communicator.
//
// [Source.Open] finds a machine by the name that a user gave it, [See] selects
// what a job sees of each machine and builds its graph, and [Connect] searches
// every node and joins them. Each step can be had alone: a command that needs
// no rings stops after See. Commands that do need them call [New].
package job
