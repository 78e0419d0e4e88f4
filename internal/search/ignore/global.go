package ignore

import (
	"path/filepath"
	"strings"
)

// Global returns the patterns of the user's core.excludesFile, or nil.
//
// The setting is read from $XDG_CONFIG_HOME/git/config (by default in home/.config) and
// home/.gitconfig; the latter takes precedence. Without a setting the file is
// git/ignore in the same folder as git/config. Includes are followed, but not those with a
// condition, which are for some repositories. A path must
// be absolute or begin with ~/ : other forms that git allows depend on the folder in
// which it runs. read reads a file; a file that it cannot read counts as empty.
func Global(home string, getenv func(string) string, read func(path string) ([]byte, error)) *List {
	xdg := getenv("XDG_CONFIG_HOME")
	if xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	file := filepath.Join(xdg, "git", "ignore")
	left := maxIncludes
	for _, config := range []string{filepath.Join(xdg, "git", "config"), filepath.Join(home, ".gitconfig")} {
		if value, ok := excludesFile(config, home, read, &left); ok {
			file = value
		}
	}
	if !filepath.IsAbs(file) {
		return nil
	}
	data, err := read(file)
	if err != nil {
		return nil
	}
	return Parse(data)
}

// FoldsCase reports whether the configuration of a repository sets core.ignoreCase, as git
// does where the file system ignores case.
func FoldsCase(config []byte) bool {
	value, ok := coreSetting(string(config), "ignorecase")
	switch value = strings.ToLower(value); value {
	case "", "0", "no", "off", "false":
		return false
	}
	return ok
}

// maxIncludes is the limit of included files, which may include each other.
const maxIncludes = 50

// excludesFile returns the last core.excludesFile of a configuration and of the files that
// it includes.
func excludesFile(config, home string, read func(path string) ([]byte, error), left *int) (file string, ok bool) {
	data, err := read(config)
	if err != nil {
		return "", false
	}
	full := func(path string) string {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			return filepath.Join(home, rest)
		}
		return path
	}
	settings(string(data), func(section, name, value string) {
		switch {
		case section == "core" && name == "excludesfile":
			file, ok = full(value), true
		case section == "include" && name == "path" && *left > 0 && value != "":
			*left--
			path := full(value)
			if !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(config), path)
			}
			if other, set := excludesFile(path, home, read, left); set {
				file, ok = other, true
			}
		}
	})
	return file, ok
}

// coreSetting returns the last value of a setting in the section core of a git
// configuration.
func coreSetting(config, name string) (value string, ok bool) {
	settings(config, func(section, key, v string) {
		if section == "core" && key == name {
			value, ok = v, true
		}
	})
	return value, ok
}

// settings calls each for the settings of a git configuration, with the section and the
// name in lower case, and "true" as the value of a key without one: see the section Syntax
// of git-config(1).
func settings(config string, each func(section, name, value string)) {
	config = strings.TrimPrefix(config, "\uFEFF")
	config = strings.ReplaceAll(config, "\r\n", "\n")
	section := ""
	for config != "" {
		config = strings.TrimLeft(config, " \t\n")
		switch {
		case config == "":
		case config[0] == '#' || config[0] == ';':
			_, config, _ = strings.Cut(config, "\n")
		case config[0] == '[':
			section, config = cutHeader(config[1:])
			section = strings.ToLower(section)
		default:
			end := strings.IndexAny(config, "=\n")
			if end < 0 || config[end] == '\n' {
				var key string // without a value
				key, config, _ = strings.Cut(config, "\n")
				each(section, strings.ToLower(strings.TrimRight(key, " \t")), "true")
				continue
			}
			name := strings.ToLower(strings.TrimRight(config[:end], " \t"))
			var value string
			value, config = cutValue(config[end+1:])
			each(section, name, value)
		}
	}
}

// cutHeader splits off a section's name before its closing bracket. Brackets within the
// quotes of a subsection do not count.
func cutHeader(s string) (header, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ']' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return "", ""
}

// cutValue splits off a value. It handles quotes, escapes, comments and lines joined by
// a backslash. It removes blanks at the ends, unless quoted.
func cutValue(s string) (value, rest string) {
	var b strings.Builder
	quoted := false
	blanks := "" // blanks that may be at the end
	i := 0
	for ; i < len(s) && s[i] != '\n'; i++ {
		c := s[i]
		switch {
		case !quoted && (c == '#' || c == ';'):
			_, rest, _ := strings.Cut(s[i:], "\n")
			return b.String(), rest
		case !quoted && (c == ' ' || c == '\t'):
			if b.Len() > 0 {
				blanks += string(c)
			}
			continue
		case c == '"':
			quoted = !quoted
			b.WriteString(blanks)
			blanks = ""
			continue
		case c == '\\' && i+1 < len(s):
			i++
			c = s[i]
			if c == '\n' {
				continue
			}
			c = unescape(c)
		}
		b.WriteString(blanks)
		blanks = ""
		b.WriteByte(c)
	}
	return b.String(), s[min(i+1, len(s)):]
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	}
	return c
}
