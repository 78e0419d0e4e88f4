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

	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/policy"
)

// ManagedFile is the file of who manages the machine.
const ManagedFile = "/etc/mcp-toolset/managed.json"

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
	Managed  string   // "": ManagedFile; another one is for tests
}

// Found is what there is.
type Found struct {
	Merged   *policy.Settings // all that holds; nil: no file was found
	Layers   []Layer          // every place that was looked at, the most authoritative first
	Warnings []string         // beside those of Merged: one line each, safe to show
	AddTo    string           // the file in which a person adds a rule; "": not known

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
}

// Find finds all settings. An error names the file, and says what to do: one
// that is broken or that others can write is never passed over, since the server
// would be laxer without it. Only the file of the command line has to exist.
func Find(o Options) (*Found, error) {
	if o.Managed == "" {
		o.Managed = ManagedFile
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
	if err := f.file(Managed, o.Managed, managers, seen); err != nil {
		return nil, err
	}
	if err := f.file(CommandLine, o.Explicit, named, seen); err != nil {
		return nil, err
	}
	for _, root := range o.Roots {
		if err := f.project(root, trust, seen); err != nil {
			return nil, err
		}
	}
	if err := f.file(User, user, users, seen); err != nil {
		return nil, err
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
func (f *Found) file(name, path string, by owners, seen map[string]bool) error {
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

// project adds the settings of the project in a workspace root.
func (f *Found) project(root string, trust *Trust, seen map[string]bool) error {
	layer := Layer{Name: Project, Path: projectFile(root)}
	p, err := ReadProject(root)
	if err != nil {
		return err
	}
	switch {
	case p == nil:
	case seen[p.Path]:
		return nil
	case len(p.Settings.Loosens()) == 0:
		layer.Settings, layer.Trusted = p.Settings, true // there is nothing to trust
	default:
		layer.Settings = p.Settings.Tightened()
		switch verdict, err := trust.Of(p); {
		case err != nil:
			f.warn("%v: no project is trusted until that is mended", err)
		case verdict == Trusted:
			layer.Settings, layer.Trusted = p.Settings, true
		case verdict == Changed:
			layer.Changed = true
			f.warn("%s changed since it was trusted", plain.Line(p.Path))
		}
	}
	seen[layer.Path] = true
	f.Layers = append(f.Layers, layer)
	return nil
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
