package command

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows/registry"
)

// findShell returns the shell of this machine. path lists the folders of PATH.
func (c *Commands) findShell(path []string) string {
	m := machine{
		variable: os.Getenv, git: installedGit(), path: path,
		exists: func(file string) bool {
			info, err := os.Lstat(file) // links of programs from the Store cannot be followed
			return err == nil && !info.IsDir() && !c.inWritable(filepath.Dir(file))
		},
	}
	return m.shell()
}

// installedGit returns the folders in which Git is installed for all users or the
// current one.
func installedGit() (folders []string) {
	for _, root := range []registry.Key{registry.LOCAL_MACHINE, registry.CURRENT_USER} {
		key, err := registry.OpenKey(root, `SOFTWARE\GitForWindows`, registry.QUERY_VALUE)
		if err != nil {
			continue
		}
		if folder, _, err := key.GetStringValue("InstallPath"); err == nil {
			folders = append(folders, folder)
		}
		_ = key.Close()
	}
	return folders
}
