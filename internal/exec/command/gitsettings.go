package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/sandbox"
)

// gitSettingsName is the name of the file with git's settings in a folder for temporary
// files.
const gitSettingsName = ".gitconfig"

// withGitSettings returns an environment in which git works even if the user's git
// settings hold a credential and are hidden. It stores a copy without the credential in
// temp and names it in GIT_CONFIG_GLOBAL. If the copy fails, git runs without the
// user's settings.
func (c *Commands) withGitSettings(env []string, temp string) []string {
	const name = "GIT_CONFIG_GLOBAL"
	if c.config.Home == "" || slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
		return env
	}
	text, hidden := sandbox.GitSettings(c.config.Home)
	if !hidden {
		return env
	}
	path := filepath.Join(temp, gitSettingsName)
	f, err := os.CreateTemp(temp, gitSettingsName+"-")
	if err == nil {
		_, err = f.WriteString(text)
		if failed := f.Close(); err == nil {
			err = failed
		}
		if err == nil {
			err = os.Rename(f.Name(), path) // replaces a link that a command may have put there
		}
		if err != nil {
			os.Remove(f.Name())
		}
	}
	if err != nil {
		c.config.Log.Warn("git runs without the user's settings", "error", err.Error())
		path = os.DevNull
	}
	return append(env, name+"="+path)
}
