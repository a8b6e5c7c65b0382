package main

import (
	"fmt"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/contest"
)

// comparison is what --peer is asked to compare.
type comparison struct {
	format   string
	settings []bench.Setting
	hows     []contest.How
	rules    contest.Rules
	minRatio float64
}

// comparison understands the flags.
func (c *benchCommand) comparison() (p *comparison, err error) {
	if c.turns.peer != "nccl" {
		return nil, usage("--peer %s: want nccl", c.turns.peer)
	}
	if e := c.engine.engine; e != engineAuto && e != "gpu" {
		return nil, usage("--engine %s: --peer compares our engine on GPUs with NCCL", e)
	}
	p = &comparison{minRatio: c.turns.minRatio}
	if !(p.minRatio >= 0) { // nor NaN
		return nil, usage("--min-ratio %v: want a ratio such as 1.3, or 0 for none", p.minRatio)
	}
	if p.format, err = c.out.resolve(); err != nil {
		return nil, err
	}
	if p.hows, err = c.turns.hows(); err != nil {
		return nil, err
	}
	if p.rules, err = c.turns.rules(); err != nil {
		return nil, err
	}
	p.settings, err = c.messages()
	return p, err
}

// messages lists all types, sizes and places that --peer compares.
func (c *benchCommand) messages() (list []bench.Setting, err error) {
	places, err := c.turns.places()
	if err != nil {
		return nil, err
	}
	sizes, err := parseSizes(c.bytes)
	if err != nil {
		return nil, err
	}
	for dtype := range strings.SplitSeq(c.dtype, ",") {
		for _, size := range sizes {
			for _, inPlace := range places {
				s, err := c.setting(dtype, size)
				if err != nil {
					return nil, &codedError{exitUsage, err}
				}
				if s.InPlace = inPlace; s.Bytes%int64(s.DType.Size()) == 0 {
					list = append(list, s)
				}
			}
		}
	}
	if len(list) == 0 {
		return nil, usage("--bytes %s: no size is a whole number of %s", c.bytes, c.dtype)
	}
	return list, nil
}

// setting is one message as the flags shape it; its ranks are still open.
func (c *benchCommand) setting(dtype string, size int64) (s bench.Setting, err error) {
	s = bench.DefaultBaseline()
	for _, f := range [][2]string{{"algo", c.algo}, {"proto", c.proto}, {"dtype", dtype}, {"op", c.op}, {"buffsize", c.buffsize}} {
		if s, err = s.With(f[0], f[1]); err != nil {
			return s, fmt.Errorf("--%w", err)
		}
	}
	s.Bytes, s.Channels, s.Threads = size, c.nchannels, c.nthreads
	return s, nil
}
