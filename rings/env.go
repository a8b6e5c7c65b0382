package rings

// Env looks up NCCL's variables.
type Env interface {
	Int(name string, def int64) int64
}

// OptionsFrom reads the settings of searches from NCCL's variables.
func OptionsFrom(env Env) Options {
	o := DefaultOptions()
	o.CrossNIC = CrossNIC(env.Int("NCCL_CROSS_NIC", int64(CrossAuto)))
	switch env.Int("NCCL_NVLS_ENABLE", 2) {
	case 0:
		o.Multicast = MulticastNever
	case 2:
	default:
		o.Multicast = MulticastForced
	}
	return o
}
