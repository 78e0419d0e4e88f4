package workspace

import (
	"golang.org/x/sys/windows"

	"mcp-toolset/internal/file/ospath"
)

// spell finds the stored name with one look-up. The given name may differ from it in
// case, or be a short name (PROGRA~1), which no rule for the long name covers.
var spell speller = stored

func stored(dir, name string) (string, error) {
	path := join(dir, name)
	found, err := findName(path)
	switch {
	case err == nil && (found == name || sameFile(path, join(dir, found))):
		return found, nil
	case ospath.Host.IsShort(name):
		return "", &ospath.Fault{Fact: "has a short name, and the long one cannot be found", Next: "Use the long name."}
	}
	return name, nil // the folder cannot be listed: only case may differ
}

// findName returns the stored name of the file at path, which must contain no wildcard.
func findName(path string) (string, error) {
	name, err := windows.UTF16PtrFromString(long(path))
	if err != nil {
		return "", err
	}
	var found windows.Win32finddata
	search, err := windows.FindFirstFile(name, &found)
	if err != nil {
		return "", err
	}
	defer windows.FindClose(search)
	return windows.UTF16ToString(found.FileName[:]), nil
}

// long returns a canonical path in the form that has no length limit.
func long(path string) string {
	if ospath.Host.Share(path) != "" {
		return `\\?\UNC` + path[1:]
	}
	return `\\?\` + path
}
