package gitfront

import (
	"path/filepath"
	"strings"
)

// submodule is writes for submodule.
func (f *front) submodule(set []string, readable bool) []string {
	before, after := f.operands("-j", "--jobs", "--depth", "--reference", "--filter")
	if len(before) == 0 {
		return nil
	}
	specs := append(before[1:], after...)
	switch {
	case before[0] == "deinit" && f.has("-f", "--force"):
		if f.has("--all") {
			specs = []string{":/"}
		}
		return f.within(set, specs, "")
	case before[0] == "update" && readable:
		if len(specs) == 0 {
			specs = []string{":/"}
		}
		return f.within(f.outdated(set), specs, "")
	}
	return nil
}

// outdated returns the submodules of set that are not at the commit that the index has.
func (f *front) outdated(set []string) (out []string) {
	entries, err := f.entries(f.index(), set)
	if err != nil {
		return set
	}
	for _, e := range entries {
		if w := strings.Fields(e.record); w[0] == "160000" && f.line("-C", filepath.Join(f.top, e.name), "rev-parse", "HEAD") != w[1] {
			out = append(out, e.name)
		}
	}
	return out
}
