package command

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mcp-toolset/internal/exec/sandbox"
)

// besidePrograms lists the folders beside a folder of programs that these need, where the folder
// above cannot be read as a whole.
var besidePrograms = []string{
	"lib", "lib64", "libexec", "share", "include", "bin", "sbin", "shims", "Cellar", "opt", "etc", "conda-meta", "envs", "pkgs", "versions", "plugins", "installs", "installations",
	"toolchains", "candidates", "current", "tools", "node_modules", "packages", "jre", "jmods", "conf", "sdk",
}

// besideInHome is besidePrograms for the folder bin of a home folder.
var besideInHome = []string{"lib", "lib64", "libexec", "share", "include"}

// prefixVariables lists variables that name the folder of a toolchain.
var prefixVariables = []string{
	"GOROOT", "JAVA_HOME", "JDK_HOME", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "RUSTUP_HOME", "HOMEBREW_PREFIX", "CONDA_PREFIX", "VIRTUAL_ENV", "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT",
	"SDKMAN_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "VOLTA_HOME", "FNM_DIR", "DOTNET_ROOT", "PYTHONHOME", "FLUTTER_ROOT",
}

// maxToolFolders limits the number of folders of programs that are examined. Links lead from one
// to another: from a program of uv to its Python, and from there to that of the system.
const maxToolFolders = 200

// folderOfPrograms matches names of folders of programs.
func folderOfPrograms(path string) bool {
	return slices.Contains([]string{"bin", "sbin", "shims", "condabin"}, filepath.Base(path))
}

// toolchains returns the folders that the programs of PATH need, besides those that all commands may
// read: the folders themselves, those of the targets of links in them, and the folder above a
// folder bin, or what programs need of that if it may hold other things. All exist, and their links
// are resolved. It follows no link that a command could have made, and returns no file that may
// hold credentials.
//
// The result is stored until a folder of PATH changes.
func (c *Commands) toolchains(links *sandbox.Resolver) []string {
	var key strings.Builder
	for _, folder := range c.programs() {
		if info, err := os.Stat(folder); err == nil {
			fmt.Fprintln(&key, folder, info.ModTime().UnixNano())
		}
	}
	c.tools.Lock()
	defer c.tools.Unlock()
	if c.tools.key != key.String() {
		c.tools.key, c.tools.found = key.String(), c.findToolchains(links)
	}
	return slices.Clone(c.tools.found)
}

// toolchains stores the result of Commands.toolchains.
type toolchains struct {
	sync.Mutex
	key   string
	found []string
}

func (c *Commands) findToolchains(links *sandbox.Resolver) (out []string) {
	var queue []string
	add := func(path string) {
		real := links.Real(path)
		if real == "" || real != filepath.Clean(path) && c.writes(path, real) || slices.Contains(queue, real) || len(queue) == maxToolFolders {
			return
		}
		queue = append(queue, real)
	}
	for _, folder := range c.programs() {
		add(folder)
	}
	rustup := []string{c.variable("RUSTUP_HOME")}
	for _, folder := range queue {
		if above, ok := strings.CutSuffix(folder, "/.cargo/bin"); ok {
			rustup = append(rustup, filepath.Join(above, ".rustup"))
		}
	}
	for _, home := range rustup { // the programs of cargo are links to rustup, which runs others from there
		if !filepath.IsAbs(home) {
			continue
		}
		toolchains, _ := filepath.Glob(filepath.Join(home, "toolchains", "*", "bin"))
		for _, folder := range toolchains {
			add(folder)
		}
		for _, name := range []string{"settings.toml", "toolchains"} { // it lists its toolchains
			if path := filepath.Join(home, name); links.Real(path) == path {
				out = append(out, path)
			}
		}
	}
	for _, name := range prefixVariables {
		if prefix := c.variable(name); filepath.IsAbs(prefix) {
			add(filepath.Join(prefix, "bin"))
			add(filepath.Join(prefix, "shims"))
		}
	}
	for i := 0; i < len(queue); i++ {
		folder := queue[i]
		if !sandbox.InSystem(folder) {
			out = append(out, c.toolFolders(folder)...)
		} else if !inside(folder, "/usr/local") && !inside(folder, "/opt") {
			continue // its links stay in the system
		}
		if c.writes(folder, folder) {
			continue // commands may have made what is in it
		}
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if e.Type()&os.ModeSymlink == 0 {
				if interpreter := interpreterOf(path, e); interpreter != "" {
					add(filepath.Dir(interpreter))
					c.addTarget(links, interpreter, add)
				}
				continue
			}
			c.addTarget(links, path, add)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// addTarget calls add with the folder of the program that a link leads to.
func (c *Commands) addTarget(links *sandbox.Resolver, path string, add func(string)) {
	if file := links.Real(path); file != "" && !c.writes(path, file) {
		add(filepath.Dir(file))
	}
}

// interpreterOf returns the absolute path of the interpreter of a script, or "". Only scripts
// begin with #!, so it reads few bytes.
func interpreterOf(path string, e os.DirEntry) string {
	if !e.Type().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	begin := make([]byte, 300)
	n, _ := io.ReadFull(f, begin)
	line, _, _ := strings.Cut(string(begin[:n]), "\n")
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 || !filepath.IsAbs(words[0]) || sandbox.InSystem(words[0]) {
		return ""
	}
	return words[0]
}

// toolFolders returns what the programs in a folder need: the folder above it if it is one of
// programs and holds nothing else, otherwise the folder itself and those beside it.
func (c *Commands) toolFolders(folder string) (out []string) {
	if c.above(folder) {
		return nil
	}
	prefix := filepath.Dir(folder)
	if folderOfPrograms(folder) && filepath.Dir(prefix) != "/" && !c.above(prefix) {
		if whole, known := sandbox.Around(resolved(c.config.Home), prefix); known {
			return append(whole, folder)
		}
	}
	out = append(out, folder)
	names := besidePrograms
	switch {
	case !folderOfPrograms(folder) || prefix == "/":
		return out
	case sandbox.IsHome(prefix) || prefix == resolved(c.config.Home):
		names = besideInHome
	}
	for _, name := range names {
		beside := filepath.Join(prefix, name)
		if info, err := os.Lstat(beside); err != nil || !info.IsDir() || c.above(beside) {
			continue
		}
		around, _ := sandbox.Around(resolved(c.config.Home), beside)
		out = append(out, around...)
	}
	return out
}

// above reports whether a folder holds more than a toolchain: a home folder or those of all users, a
// root, the server's state, or temporary files.
func (c *Commands) above(folder string) bool {
	return slices.Contains([]string{"/", "/home", "/Users", "/root", "/run", "/mnt", "/media", "/dev", "/proc", "/sys"}, folder) || slices.Contains(temporaryFolders, folder) ||
		c.config.Home != "" && inside(resolved(c.config.Home), folder) || inside(c.config.State, folder) || inside(folder, c.config.State) || sandbox.IsHome(folder) ||
		slices.ContainsFunc(c.mayWrite(), func(w string) bool { return inside(w, folder) })
}

// Programs returns the number of programs on PATH, and those that the sandbox keeps from commands:
// they, the targets of their links or their interpreters are in a folder that commands do not read.
// Of programs with the same name only the first counts.
func (c *Commands) Programs() (count int, unreadable []string) {
	links, names := sandbox.NewResolver(), map[string]bool{}
	needs := map[string][]string{} // by program
	for _, folder := range c.programs() {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if info, err := os.Stat(path); err != nil || names[e.Name()] || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
				continue
			}
			names[e.Name()] = true
			needs[path] = []string{links.Real(path)}
			if interpreter := interpreterOf(path, e); interpreter != "" {
				needs[path] = append(needs[path], links.Real(interpreter))
			}
		}
	}
	hidden := c.policy(nil, false, "").Unreadable(slices.Concat(slices.Collect(maps.Values(needs))...))
	for path, files := range needs {
		if slices.ContainsFunc(files, func(file string) bool { return hidden[file] }) {
			unreadable = append(unreadable, path)
		}
	}
	slices.Sort(unreadable)
	return len(names), unreadable
}
