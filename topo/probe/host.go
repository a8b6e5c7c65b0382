package probe

import "strings"

// hostHash tells one host from another: of its name and the first word of its
// boot id, or of NCCL_HOSTID where that is set.
func hostHash(h *Host, env Env) uint64 {
	if h.HostHash != nil {
		return uint64(*h.HostHash)
	}
	name := h.Hostname
	if id, _, _ := strings.Cut(strings.TrimSpace(h.BootID), " "); id != "" {
		name += id
	}
	if h.HostID != nil {
		name = *h.HostID
	}
	if id, ok := env("NCCL_HOSTID"); ok {
		name = id
	}
	return hash(name[:min(len(name), maxHostID)])
}

// maxHostID is how much of a host's name counts.
const maxHostID = 1023

func hash(s string) uint64 {
	h := uint64(5381)
	for _, c := range []byte(s) {
		h = h*33 ^ uint64(c)
	}
	return h
}
