package gpu

// Tune sets how plans are launched that are run or captured from now on. What
// was captured before stays as it is.
func (e *Executor) Tune(t DirectTuning) { e.opts.Direct = t }

// AtOnce has a replay start as soon as its first launch is queued. Others are
// compared so: NCCL's graphs cannot be queued before they start.
func (r *Replay) AtOnce() { r.atOnce = true }

// Hardware is what an executor runs on.
type Hardware struct {
	Device  string // name of the GPUs, as the driver says it; of the first where they differ
	Devices int    // GPUs that take part
	Link    string // the worst way between ranks: memory (of one GPU), nvlink, pcie or staged
	CUDA    int    // version that the driver implements: 13000 is 13.0
}

var linkNames = map[way]string{sameGPU: "memory", nvlink: "nvlink", pcie: "pcie", staged: "staged"}

// Present says what GPUs there are, without opening them; their links are not
// known then.
func Present() (Hardware, error) {
	drv, err := (&Options{}).openDriver()
	if err != nil {
		return Hardware{}, err
	}
	list := drv.Devices()
	return Hardware{Device: list[0].Name, Devices: len(list), CUDA: drv.Version()}, nil
}

// Hardware says what the executor runs on.
func (e *Executor) Hardware() Hardware {
	h := Hardware{Device: e.devices[0].Device.Name, Devices: len(e.devices), CUDA: e.driver.Version()}
	worst := sameGPU
	for _, from := range e.local {
		for _, to := range e.local {
			worst = max(worst, e.way(from, to))
		}
	}
	h.Link = linkNames[worst]
	return h
}
