package upstream

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// passed lists the variables of this process that a stdio server inherits:
// those that MCP clients pass on, the user's name and folders and the network
// settings. Other variables may be secrets, so the settings must set them by
// name.
var passed = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// passedOnWindows lists additional variables for Windows, where names ignore
// case.
var passedOnWindows = []string{
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
	"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// environment returns the environment of a stdio server. ours is that of this
// process.
func (s *Server) environment(ours []string, system string) []string {
	vars := map[string]string{}
	for _, entry := range ours {
		// A value that defines a shell function is code.
		if name, value, ok := strings.Cut(entry, "="); ok && isPassed(name, system) && !strings.HasPrefix(value, "()") {
			vars[name] = value
		}
	}
	maps.Copy(vars, s.Env)
	out := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

func isPassed(name, system string) bool {
	list := passed
	if system == "windows" {
		list = append(slices.Clip(list), passedOnWindows...)
	}
	return slices.ContainsFunc(list, func(p string) bool {
		if system == "windows" {
			name = strings.ToUpper(name)
			p = strings.ToUpper(p)
		}
		begin, open := strings.CutSuffix(p, "*")
		return name == p || open && strings.HasPrefix(name, begin)
	})
}

// lookPath finds a program as the server would: in the PATH of env, or relative
// to dir if the name has a slash.
func lookPath(program, dir string, env []string) (string, bool) {
	if strings.ContainsRune(program, '/') || strings.ContainsRune(program, filepath.Separator) {
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		found, err := exec.LookPath(program)
		return found, err == nil
	}
	path := ""
	for _, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue // relative to a folder that others may control
		}
		if found, err := exec.LookPath(filepath.Join(folder, program)); err == nil {
			return found, true
		}
	}
	return "", false
}

// workingDir returns the working directory of a stdio server: the one of the
// settings, other, or our own, whichever is the first absolute path.
func (s *Server) workingDir(other string) string {
	for _, dir := range []string{s.Dir, other} {
		if filepath.IsAbs(dir) {
			return dir
		}
	}
	if dir, err := os.Getwd(); err == nil {
		return dir
	}
	return string(filepath.Separator)
}
