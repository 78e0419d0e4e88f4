package settings

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// managedFile returns the path of the settings file of the machine's administrator. It
// is below Program Files, where only administrators may write; every user may make
// folders at the top of a drive and in ProgramData. The path comes from the system and
// not from a variable, because every user may set variables.
func managedFile() string {
	programs, err := windows.KnownFolderPath(windows.FOLDERID_ProgramFiles, 0)
	if err != nil {
		programs = `C:\Program Files`
	}
	return filepath.Join(programs, "mcp-toolset", "managed.json")
}
