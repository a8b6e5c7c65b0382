package main

import (
	"errors"
	"strconv"

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

// flagError says in words what a flag's value should have been; other errors
// of flags it leaves as they are.
func flagError(err error) error {
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
