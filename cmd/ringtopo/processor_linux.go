package main

import "github.com/prometheus/procfs"

// processor is the name of this host's processor, empty where it is not told.
func processor() string {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return ""
	}
	cpus, err := fs.CPUInfo()
	if err != nil || len(cpus) == 0 {
		return ""
	}
	return cpus[0].ModelName
}
