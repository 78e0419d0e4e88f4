package bash

import (
	"runtime"
	"strings"

	"mcp-toolset/internal/exec/shellsafe"
)

// windowsPath returns a path in a command for Git Bash as Windows spells it: /c/x
// becomes C:\x. It reports false for a path whose location is unknown: below the root
// of Git Bash, relative to a drive, or with a backslash that bash and programs may read
// differently.
func windowsPath(text string) (path string, ok bool) {
	switch drive := strings.TrimPrefix(text, "/"); {
	case drive != text && len(drive) > 0 && letter(drive[0]) && (len(drive) == 1 || drive[1] == '/'):
		return strings.ToUpper(drive[:1]) + `:\` + strings.ReplaceAll(strings.TrimPrefix(drive[1:], "/"), "/", `\`), true
	case strings.HasPrefix(text, "/"):
		return "", false
	case len(text) > 1 && text[1] == ':':
		return strings.ReplaceAll(text, "/", `\`), letter(text[0]) && len(text) > 2 && (text[2] == '\\' || text[2] == '/')
	}
	return text, true
}

// posixPath returns a path as Git Bash spells it: C:\x becomes /c/x. The analysis reads
// commands with such paths.
func posixPath(path string) string {
	if runtime.GOOS != "windows" {
		return path
	}
	return toPosix(path)
}

func posixPaths(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = posixPath(path)
	}
	return out
}

func toPosix(path string) string {
	if len(path) > 2 && letter(path[0]) && path[1] == ':' {
		path = "/" + strings.ToLower(path[:1]) + path[2:]
	}
	path = strings.ReplaceAll(path, `\`, "/")
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// unknownOnWindows returns why the files that a command for Git Bash names are not
// known on Windows; "" if they are. The analysis reads paths as on other systems, so no
// rule may allow a command with a path that Windows reads differently.
func unknownOnWindows(a *shellsafe.Analysis) string {
	for i := range a.Commands {
		c := &a.Commands[i]
		if c.Name != "cd" && c.Name != "pushd" && c.Name != "popd" {
			continue
		}
		for _, word := range c.Words[1:] {
			if _, ok := windowsPath(word); !ok || strings.ContainsAny(word, `\:~`) || word == "-" {
				return c.Name + " goes to a folder that is not known on Windows before it runs"
			}
		}
		if len(c.Words) == 1 || c.Name == "popd" {
			return c.Name + " goes to a folder that is not known on Windows before it runs"
		}
	}
	for _, list := range [][]shellsafe.Path{a.Reads, a.Writes} {
		for _, n := range list {
			if _, ok := windowsPath(n.Text); !ok && n.Text != "/dev/null" {
				return n.Text + " is a path of Git Bash that is not known on Windows"
			}
			if n.Glob {
				return "the pattern " + n.Text + " is not expanded on Windows before it runs"
			}
		}
	}
	return ""
}
