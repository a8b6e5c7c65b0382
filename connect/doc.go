// Package connect joins nodes into a communicator: it reconciles what each
// node's search found, stitches global rings and double binary trees,
// duplicates channels, and builds and checks every ring.
package connect
