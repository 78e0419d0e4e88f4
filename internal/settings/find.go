package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/policy"
)

// The names of layers, the most authoritative first.
const (
	Managed     = "managed"
	CommandLine = "command line"
	Project     = "project"
	User        = "user"
)

// Options determines where Find looks for settings. Paths are absolute.
type Options struct {
	Explicit string // the file named on the command line; "" if there is none
	Home     string // home folder; "" if there is none
	Dir      string // working directory of the server; "" if unknown
	Getenv   func(string) string
	Roots    []string // workspace roots, canonical
	State    string   // the state folder, which may not exist
	Tools    []string // names of the tools that rules may be on; nil disables this check
	Managed  string   // the administrator's file, for tests; "" means managedFile()
	Preset   string   // one of Presets, the least authoritative; "": none
}

// Found is the result of Find.
type Found struct {
	Merged   *Settings // all settings that apply; nil if no file was found
	Layers   []Layer   // all places that were searched, the most authoritative first
	Warnings []string  // in addition to those of Merged: one line each, safe to show
	AddTo    string    // the file to which the user can add rules; "" if unknown

	// Notice is a text for the model of a client about faults in the files of projects that
	// are not trusted. It is "" if there are none.
	Notice string

	faults []string // of files that apply in full; see Settings.Faults

	read []string // see Places
	sum  []string // the content of each file and how much of it applies, for Digest

	// Trusted lists the roots whose projects the user trusts as they are.
	Trusted []string
	// MachineFolder is the folder of the machine's settings, into which only root can put files; ""
	// if there is none.
	MachineFolder string

	// Files lists the server's own files and folders and the programs that its settings name,
	// which no tool may write. They may not exist. It includes each path as written and its
	// canonical path. Closed lists the folders that no tool and no command may access.
	Files, Closed []string
}

// Layer is one place of settings.
type Layer struct {
	Name     string
	Path     string
	Settings *Settings // the settings of the file that apply; nil if there is no file
	Trusted  bool      // whether all of the file applies; if not, only its stricter entries do
	Changed  bool      // whether the file of a project differs from the one the user trusted
	Broken   bool      // whether the file of an untrusted project is unusable and has no effect
}

// Standing describes how much of the layer applies.
func (l Layer) Standing() string {
	switch {
	case l.Broken:
		return "not trusted and cannot be read: nothing of it holds"
	case l.Settings == nil:
		return "absent"
	case l.Changed:
		return "changed since it was trusted: only its deny and ask rules hold"
	case !l.Trusted:
		return "not trusted: only its deny and ask rules hold"
	case l.Name == Project && len(l.Settings.Loosens()) > 0:
		return "trusted"
	}
	return "holds"
}

// TrustCommand returns the command with which the user trusts the project of the layer, safe
// to show.
func (l Layer) TrustCommand() string {
	return "mcp-toolset trust " + quoted(filepath.Dir(filepath.Dir(l.Path)))
}

// Find finds and merges all settings. It returns an error that names the file and a
// remedy if a file is malformed, is writable by others or has faults: without the
// file, the server would be less strict. The exception is the file of a project that
// is not trusted, for which Find only adds a warning, so that no repository can stop
// the server. Only the file of the command line must exist.
func Find(o Options) (*Found, error) {
	if o.Managed == "" {
		o.Managed = managedFile()
	}
	f := &Found{MachineFolder: machineFolder(filepath.Dir(o.Managed))}
	config := ConfigFolder(o.Getenv, o.Home)
	if _, err := workspace.Canonical(config); errors.Is(err, syscall.ENOTDIR) {
		config = "" // no file can exist below a home folder such as /dev/null
	}
	user := ""
	if config != "" {
		user = filepath.Join(config, policy.ProjectFile)
	}
	trust := NewTrust(o.State)
	f.read = reads(o, user, trust)
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
	var layers []*Settings
	for _, l := range f.Layers {
		layers = append(layers, l.Settings)
	}
	if o.Preset != "" {
		layers = append(layers, preset(o.Preset, o.Tools))
	}
	f.Merged = Merge(layers)
	f.AddTo = user
	if o.Explicit != "" {
		f.AddTo = o.Explicit
	}
	f.Files = append(f.places(trust.file, config), f.Merged.programs(o)...)
	f.Closed = both(o.State, config)
	if o.Preset != "" {
		f.Layers = append(f.Layers, Layer{Name: Preset, Path: o.Preset, Settings: layers[len(layers)-1], Trusted: true})
	}
	return f, nil
}

// machineFolder returns dir if it is a folder that belongs to root and that no other user can
// change, and "" otherwise.
func machineFolder(dir string) string {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || hasOwners && (!rootOwns(info) || info.Mode().Perm()&0o022 != 0) {
		return ""
	}
	return dir
}

// ConfigFolder returns the folder of the user's settings: mcp-toolset in the XDG
// configuration folder, which is ~/.config by default. It returns "" if there is none.
func ConfigFolder(getenv func(string) string, home string) string {
	// The XDG Base Directory Specification says to ignore relative paths in the variable.
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcp-toolset")
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".config", "mcp-toolset")
}

// file adds the settings of a place outside of projects, whose content is trusted.
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
		return nil // it was read in a more authoritative place
	default:
		seen[canonical] = true
		f.add(path, string(data))
		if layer.Settings, err = Parse(data, path, rootOf(path)); err != nil {
			return err
		}
		layer.Settings.checkDisk(by == users)
		f.faults = append(f.faults, layer.Settings.Faults(tools)...)
	}
	f.Layers = append(f.Layers, layer)
	return nil
}

// rootOf returns the folder at which /p patterns and relative folders of a settings
// file begin. It is the file's folder, or the parent of that if the name of the folder
// begins with a dot: /app for /app/.config/settings.json.
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

// places returns the paths that are or could be settings files of this server, and the
// paths in more.
func (f *Found) places(more ...string) []string {
	var paths []string
	for _, l := range f.Layers {
		paths = append(paths, l.Path)
	}
	for _, dir := range f.Merged.AdditionalDirectories() {
		paths = append(paths, projectFile(dir)) // these folders are roots as well
	}
	return both(append(paths, more...)...)
}

// both returns each path as written, followed by its canonical path. It leaves out ""
// and duplicates.
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
