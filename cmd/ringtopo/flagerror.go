package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wanted are the types of flags that not every text fits, in words.
var wanted = map[string]string{
	"int":      "a whole number",
	"float64":  "a number",
	"duration": "a time such as 500ms or 30s",
	"bool":     "true or false",
	"intSlice": "whole numbers with commas between",
}

// flagError says in words what a flag's value should have been, and which flag was
// meant; other errors of flags it leaves as they are.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		if near := nearFlag(cmd.Flags(), missing.GetSpecifiedName()); near != "" {
			return usage("%w; did you mean --%s?", err, near)
		}
		return err
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	want, known := wanted[flag.Value.Type()]
	switch {
	case !known:
		return err
	case errors.Is(err, strconv.ErrRange):
		return usage("--%s %s: the number is out of range", flag.Name, invalid.GetValue())
	}
	return usage("--%s %q: want %s", flag.Name, invalid.GetValue(), want)
}

// nearFlag is a flag that a name begins with, or that begins with it, such as
// machine for machines.
func nearFlag(flags *pflag.FlagSet, name string) (near string) {
	const least = 3 // letters, or anything would do
	flags.VisitAll(func(f *pflag.Flag) {
		if near == "" && !f.Hidden && min(len(name), len(f.Name)) >= least && (strings.HasPrefix(f.Name, name) || strings.HasPrefix(name, f.Name)) {
			near = f.Name
		}
	})
	return near
}

// refuseEmpty refuses flags that are given as an empty text, such as an unset
// variable of a script: what they name would silently be another thing.
func refuseEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		switch {
		case err != nil:
		case isList && (len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")), !isList && f.Value.String() == "":
			err = usage("--%s is empty", f.Name)
		}
	})
	return err
}

// together refuses flags that mean nothing but with something else, which is not
// asked for.
func together(cmd *cobra.Command, asked bool, with string, flags ...string) error {
	for _, name := range flags {
		if !asked && cmd.Flags().Changed(name) {
			return usage("--%s goes with %s", name, with)
		}
	}
	return nil
}
