//go:build unix && !linux

package host

import "os"

const noReserve = 0

// populate leaves pages to be mapped as they are touched.
func populate([]byte) {}

// release does nothing: pages stay until the segment goes.
func release(*os.File, int64, int64) {}
