package graph

// Env looks up NCCL's variables.
type Env interface {
	String(name string) (string, bool)
	Int(name string, def int64) int64
}

// OptionsFrom reads the settings of paths from NCCL's variables.
func OptionsFrom(env Env) Options {
	return Options{
		P2PLevel:   levelFrom(env, "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"),
		GDRLevel:   levelFrom(env, "", "NCCL_NET_GDR_LEVEL"),
		NoNVB:      env.Int("NCCL_NVB_DISABLE", 0) != 0,
		NoPXN:      env.Int("NCCL_PXN_DISABLE", 0) == 1,
		NoNetIntra: env.Int("NCCL_NET_DISABLE_INTRA", 0) == 1,
		NoSHM:      env.Int("NCCL_SHM_DISABLE", 0) == 1,

		AllowBlocked: env.Int("NCCL_IGNORE_DISABLED_P2P", 0) == 1,
	}
}

// oldLevels are the numbers that level variables took before they took names.
var oldLevels = [...]PathType{LOC, PIX, PXB, PHB, SYS, SYS}

// levelFrom reads a level by name or old number; what is neither counts as not
// set.
func levelFrom(env Env, disable, name string) *PathType {
	level := LOC
	if disable != "" && int32(env.Int(disable, 0)) == 1 {
		return &level
	}
	text, ok := env.String(name)
	if !ok || text == "" {
		return nil
	}
	if t, ok := ParsePathType(text); ok && t <= SYS {
		return &t
	}
	if text[0] < '0' || text[0] > '9' {
		return nil
	}
	old := int(int32(env.Int(name, 0)))
	level = oldLevels[min(max(old, 0), len(oldLevels)-1)]
	return &level
}
