package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/sandbox"
)

// gitSettingsName is the name of the file of git's settings in a folder for
// temporary files.
const gitSettingsName = ".gitconfig"

// withGitSettings returns an environment in which git works where the user's
// settings of git hold a credential and are hidden: a copy without the
// credential is named instead. What cannot be copied is left out.
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
			err = os.Rename(f.Name(), path) // a link that a command put there is replaced
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
