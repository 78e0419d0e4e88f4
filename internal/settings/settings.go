// Package settings finds the settings files of the machine, the command line,
// the project and the user, reads each with the care that its place needs, and
// makes one of them. What a project's own file allows holds only where a person
// trusts the project (trust.go). Nothing here writes a settings file.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mcp-toolset/internal/workspace"
	"mcp-toolset/policy"
)

// The names of layers, the most authoritative first.
const (
	Managed     = "managed"
	CommandLine = "command line"
	Project     = "project"
	User        = "user"
)

// Options say where to look. Paths are absolute.
type Options struct {
	Explicit string // the file of the command line; "": none
	Home     string // "": none
	Getenv   func(string) string
	Roots    []string // workspace roots, canonical
	State    string   // the state folder; it need not exist
	Tools    []string // names of the tools that rules may be on; nil: not looked at
	Managed  string   // "": managedFile(); another one is for tests
}

// Found is what there is.
type Found struct {
	Merged   *policy.Settings // all that holds; nil: no file was found
	Layers   []Layer          // every place that was looked at, the most authoritative first
	Warnings []string         // beside those of Merged: one line each, safe to show
	AddTo    string           // the file in which a person adds a rule; "": not known

	// Notice is for the model of a client: what is wrong with the files of projects
	// that nobody trusts. "": nothing.
	Notice string

	faults []string // see policy.Settings.Faults: in files that hold wholly

	// Files are the files and folders of ours that no tool may write, existing or
	// not, as written and as they are. Closed are the folders that no tool and no
	// command may touch.
	Files, Closed []string
}

// Layer is one place of settings.
type Layer struct {
	Name     string
	Path     string
	Settings *policy.Settings // what holds of the file; nil: there is none
	Trusted  bool             // all of it holds; else only what denies and asks
	Changed  bool             // of a project that was trusted: it was another file
	Broken   bool             // of a project that nobody trusts: it cannot be read, so nothing of it holds
}

// Find finds all settings. An error names the file, and says what to do: one
// that is broken, that others can write or that has faults is never passed over,
// since the server would be laxer without it. The exception is the file of a project
// that nobody trusts, which is only warned about: no repository can stop the server.
// Only the file of the command line has to exist.
func Find(o Options) (*Found, error) {
	if o.Managed == "" {
		o.Managed = managedFile()
	}
	f := &Found{}
	config := ConfigFolder(o.Getenv, o.Home)
	if _, err := workspace.Canonical(config); errors.Is(err, syscall.ENOTDIR) {
		config = "" // below a home such as /dev/null nothing can ever be
	}
	user := ""
	if config != "" {
		user = filepath.Join(config, policy.ProjectFile)
	}
	trust := NewTrust(o.State)
	seen := map[string]bool{}
	if err := f.file(Managed, o.Managed, managers, o.Tools, seen); err != nil {
		return nil, err
	}
	if err := f.file(CommandLine, o.Explicit, named, o.Tools, seen); err != nil {
		return nil, err
	}
	for _, root := range o.Roots {
		if err := f.project(root, trust, o.Tools, seen); err != nil {
			return nil, err
		}
	}
	if err := f.file(User, user, users, o.Tools, seen); err != nil {
		return nil, err
	}
	if len(f.faults) > 0 {
		return nil, errors.New(strings.Join(f.faults, "\n"))
	}
	var layers []*policy.Settings
	for _, l := range f.Layers {
		layers = append(layers, l.Settings)
	}
	f.Merged = policy.Merge(layers)
	f.AddTo = user
	if o.Explicit != "" {
		f.AddTo = o.Explicit
	}
	f.Files = f.places(trust.file, config)
	f.Closed = both(o.State, config)
	return f, nil
}

// ConfigFolder is the folder of the user's settings: mcp-toolset in the XDG
// configuration folder, which is ~/.config by default. "": there is none.
func ConfigFolder(getenv func(string) string, home string) string {
	// The XDG specification: a relative path in the variable is to be ignored.
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcp-toolset")
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".config", "mcp-toolset")
}

// file adds the settings of a place that a person alone writes.
func (f *Found) file(name, path string, by owners, tools []string, seen map[string]bool) error {
	if path == "" {
		return nil
	}
	layer := Layer{Name: name, Path: path, Trusted: true}
	data, canonical, err := read(path, by)
	switch {
	case errors.Is(err, fs.ErrNotExist) && by != named:
	case err != nil:
		return err
	case seen[canonical]:
		return nil // of a place with more authority
	default:
		seen[canonical] = true
		if layer.Settings, err = policy.ParseSettings(data, path, rootOf(path)); err != nil {
			return err
		}
		f.faults = append(f.faults, layer.Settings.Faults(tools)...)
	}
	f.Layers = append(f.Layers, layer)
	return nil
}

// rootOf is what /p patterns and relative folders of a file begin at: the folder
// it lies in, or the parent when that is a dot folder: /app for
// /app/.config/settings.json.
func rootOf(path string) string {
	root := filepath.Dir(path)
	if strings.HasPrefix(filepath.Base(root), ".") {
		root = filepath.Dir(root)
	}
	return root
}

func (f *Found) warn(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}

// places lists all that is or could be a settings file of this server, and more.
func (f *Found) places(more ...string) []string {
	var paths []string
	for _, l := range f.Layers {
		paths = append(paths, l.Path)
	}
	for _, dir := range f.Merged.AdditionalDirectories() {
		paths = append(paths, projectFile(dir)) // a root of this server, too
	}
	return both(append(paths, more...)...)
}

// both are paths as they are written and as they are; "" is left out.
func both(paths ...string) []string {
	var out []string
	add := func(path string) {
		if path != "" && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	for _, path := range paths {
		add(path)
		if path == "" {
			continue
		}
		if canonical, err := workspace.Canonical(path); err == nil {
			add(canonical)
		}
	}
	return out
}
