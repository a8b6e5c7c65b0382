package probe

import "fmt"

// NCCLNote says that the NCCL library of this machine is of another version than
// the one whose rings are shown; "" if it is not, or if there is none.
func NCCLNote() string { return ncclNote(ncclVersion("libnccl.so.2")) }

// ncclNote is NCCLNote for a version 10000*major + 100*minor + patch; up to 2.8
// it was 1000*major.
func ncclNote(version int) string {
	major, minor, patch := version/10000, version/100%100, version%100
	if version < 10000 {
		major, minor = version/1000, version/100%10
	}
	if version == 0 || major == 2 && minor == 22 {
		return ""
	}
	return fmt.Sprintf("this machine has NCCL %d.%d.%d; the rings shown are those of NCCL 2.22.3 and may differ",
		major, minor, patch)
}
