package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (a *app) newMan() *cobra.Command {
	dir := "man"
	cmd := &cobra.Command{
		Use:     "man",
		Short:   "Writes man pages",
		Example: "  ringtopo man --dir /usr/local/share/man/man1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return newOutputError(dir, err)
			}
			cmd.Root().DisableAutoGenTag = true
			if err := doc.GenManTree(cmd.Root(), &doc.GenManHeader{Title: "RINGTOPO", Section: "1", Source: "ringtopo"}, dir); err != nil {
				return newOutputError(dir, err)
			}
			a.note("the pages are in %s", dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", dir, "write the pages to this folder")
	return cmd
}

// newDocs writes what stands in the project's docs/usage.
func (a *app) newDocs() *cobra.Command {
	dir := filepath.Join("docs", "usage")
	cmd := &cobra.Command{
		Use:    "docs",
		Short:  "Writes the usage of every command as Markdown",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return newOutputError(dir, err)
			}
			cmd.Root().DisableAutoGenTag = true
			if err := doc.GenMarkdownTree(cmd.Root(), dir); err != nil {
				return newOutputError(dir, err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", dir, "write the files to this folder")
	return cmd
}
