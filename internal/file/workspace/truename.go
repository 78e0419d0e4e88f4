package workspace

import (
	"os"
	"slices"
	"strings"
)

// speller returns the name under which dir stores the entry that is found as name.
type speller func(dir, name string) (string, error)

// listed is a speller that reads all names of dir.
func listed(dir, name string) (string, error) { return trueName(dir, name, readNames, sameFile), nil }

// lister returns the names in a directory.
type lister func(dir string) ([]string, error)

// trueName returns the name under which dir stores the entry that was found as name.
// The two may differ in case, in Unicode normalisation, or by a short name of Windows,
// so the stored name is recognized as the same file. If the directory cannot be listed,
// it returns name.
func trueName(dir, name string, list lister, same func(a, b string) bool) string {
	stored, err := list(dir)
	if err != nil || slices.Contains(stored, name) {
		return name
	}
	path := join(dir, name)
	for _, folded := range []bool{true, false} { // the likely ones first
		for _, entry := range stored {
			if strings.EqualFold(entry, name) == folded && same(path, join(dir, entry)) {
				return entry
			}
		}
	}
	return name
}

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func sameFile(a, b string) bool {
	ia, err := os.Lstat(a)
	if err != nil {
		return false
	}
	ib, err := os.Lstat(b)
	return err == nil && os.SameFile(ia, ib)
}
