package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/rings"
)

// version is that of the module, or of the checkout it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

func (a *app) newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Prints the version and what it is compatible with",
		Example: "  ringtopo version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print(func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "ringtopo %s (%s, %s/%s, cgo %s)\ncompatible with %s\n",
					version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, setting("CGO_ENABLED"), rings.NCCL2223)
				return err
			})
		},
	}
	return cmd
}

// setting gives one of the settings of the build.
func setting(key string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == key {
				return map[string]string{"0": "off", "1": "on"}[s.Value]
			}
		}
	}
	return "unknown"
}
