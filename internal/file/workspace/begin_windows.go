package workspace

import (
	"strings"

	"golang.org/x/sys/windows"

	"mcp-toolset/internal/file/ospath"
)

// maxDrives is the limit of drives that are substitutes for each other (command subst).
const maxDrives = 4

// begin returns the folder at which to begin resolving an absolute path, and the rest
// of the path, both in their only spelling. It accesses no file.
func begin(path string) (top, rest string, err error) {
	for range maxDrives {
		path = ospath.Host.Clean(path)
		if err := ospath.Host.Check(path); err != nil {
			return "", "", err
		}
		if err := shares.check(path); err != nil {
			return "", "", err
		}
		folder := driveFolder(path)
		if folder == "" {
			top, rest = splitVolume(path)
			return top, rest, nil
		}
		path = folder + path[len(`C:`):]
	}
	return "", "", &ospath.Fault{Fact: "is on a drive that stands for too many others", Next: "Use the path of the folder itself."}
}

// driveFolder returns the folder that the drive of a path substitutes, as set by the
// command subst; "" for any other path.
func driveFolder(path string) string {
	if len(path) < 2 || path[1] != ':' {
		return ""
	}
	name, err := windows.UTF16PtrFromString(path[:2])
	if err != nil {
		return ""
	}
	var buf [windows.MAX_LONG_PATH]uint16
	n, err := windows.QueryDosDevice(name, &buf[0], uint32(len(buf)))
	if err != nil || n == 0 {
		return ""
	}
	folder, ok := strings.CutPrefix(windows.UTF16ToString(buf[:n]), `\??\`)
	if !ok {
		return "" // a device: a disk, or a share with a drive letter
	}
	if rest, ok := strings.CutPrefix(folder, `UNC\`); ok {
		return `\\` + rest
	}
	if folder = strings.TrimSuffix(folder, `\`); strings.EqualFold(folder, path[:2]) {
		return ""
	}
	return folder
}
