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

// passed are the variables of this process that a stdio server gets: what MCP
// clients hand on, where the user is and how the network is reached. Anything
// else, which may be a secret, is given by name in the settings.
var passed = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// passedOnWindows are further ones there, whose names have no case.
var passedOnWindows = []string{
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
	"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// environment is that of a stdio server.
func (s *Server) environment(ours []string, system string) []string {
	vars := map[string]string{}
	for _, entry := range ours {
		// A value that is a function of a shell is code.
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

// lookPath finds a program as the server itself would: in the PATH of its
// environment, or from its folder if the name has a slash.
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
			continue // a folder of whoever placed the settings
		}
		if found, err := exec.LookPath(filepath.Join(folder, program)); err == nil {
			return found, true
		}
	}
	return "", false
}

// workingDir is the folder a stdio server runs in.
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
