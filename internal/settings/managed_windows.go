package settings

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// managedFile returns the settings file of the administrator of the machine. It
// is below Program Files, where only administrators may write: every user may
// make folders at the top of a drive and in ProgramData. The system is asked,
// since every user may set a variable.
func managedFile() string {
	programs, err := windows.KnownFolderPath(windows.FOLDERID_ProgramFiles, 0)
	if err != nil {
		programs = `C:\Program Files`
	}
	return filepath.Join(programs, "mcp-toolset", "managed.json")
}
