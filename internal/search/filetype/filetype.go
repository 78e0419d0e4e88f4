// Package filetype holds ripgrep's names of file types, as -t takes them, and their
// globs.
//
// The rules:
//   - Names and globs are those of ripgrep 15. They are data: see types.txt.
//   - A glob is matched with the name of a file without its folder. Case is
//     significant, also in names of types.
//   - "all" means any type. So it excludes files that have none.
//   - The error for an unknown type is a [fault.Fault] that suggests similar types.
package filetype

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// everything is the name for all types.
const everything = "all"

//go:embed types.txt
var data string

// types returns the globs of each type, by name.
var types = sync.OnceValue(func() map[string][]string { return parse(data) })

// parse parses a list of types, one per line: "name: glob, glob". Lines that begin with
// # are comments.
func parse(list string) map[string][]string {
	types := map[string][]string{}
	for line := range strings.Lines(list) {
		name, globs, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || line[0] == '#' {
			continue
		}
		types[name] = strings.Split(globs, ", ")
	}
	return types
}

// Names returns the names of all types except "all", in byte order.
func Names() []string {
	names := make([]string, 0, len(types()))
	for name := range types() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Globs returns the globs of a type in byte order, those of "all" without duplicates.
// The caller may modify the slice. The error is a [fault.Fault].
func Globs(name string) ([]string, error) {
	if globs, ok := types()[name]; ok {
		return slices.Clone(globs), nil
	}
	if name != everything {
		return nil, unknown(name)
	}
	var all []string
	for _, globs := range types() {
		all = append(all, globs...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
