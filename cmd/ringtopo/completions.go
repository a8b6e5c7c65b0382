package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// complete has a shell offer the values that flags of a command may have.
func complete(cmd *cobra.Command, values map[string][]string) {
	for flag, list := range values {
		completeBy(cmd, flag, func() []string { return list })
	}
}

// completeBy makes the list only when a shell asks for it.
func completeBy(cmd *cobra.Command, flag string, list func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list(), cobra.ShellCompDirectiveNoFileComp
	})
}

func texts[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}
