package workspace

import (
	"strings"

	"golang.org/x/sys/windows"

	"mcp-toolset/internal/ospath"
)

// maxDrives is how many drives may stand for folders of one another.
const maxDrives = 4

// begin returns where to resolve an absolute path from, and through which names:
// the path in the form that has no second one. It looks at no file.
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

// driveFolder returns the folder that the drive of a path stands for, as the
// command subst makes one, and "" for any other path.
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
		return "" // a device: a disk, or a share that was given a letter
	}
	if rest, ok := strings.CutPrefix(folder, `UNC\`); ok {
		return `\\` + rest
	}
	if folder = strings.TrimSuffix(folder, `\`); strings.EqualFold(folder, path[:2]) {
		return ""
	}
	return folder
}
