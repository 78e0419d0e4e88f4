package sandbox

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cache is a folder of a toolchain that builds write to.
type Cache struct {
	Path   string
	Reason string
	Absent bool // it must be made (mode 0700) before a policy can grant it
	// Programs lists names in the cache that other programs execute. For caches
	// with programs, Parts lists the names in it that the tool needs for packages.
	Programs, Parts []string
	// Layered is set if commands may write to it only through a layer: programs of the user run
	// what is in it.
	Layered bool
}

// Data returns the paths of a cache that hold no programs: the whole folder, or its
// present entries without Programs, bin and folders of PATH. path is the list of
// folders of PATH.
func (c Cache) Data(path []string) []string {
	var programs []string
	for _, folder := range path {
		real, _ := filepath.EvalSymlinks(folder)
		programs = append(programs, filepath.Clean(folder), real)
	}
	for _, name := range c.Programs {
		programs = append(programs, filepath.Join(c.Path, name))
	}
	bin := filepath.Join(c.Path, "bin")
	if _, err := os.Lstat(bin); err == nil {
		programs = append(programs, bin)
	}
	real, err := filepath.EvalSymlinks(c.Path)
	if err != nil {
		return nil
	}
	l := lister{secrets: slices.DeleteFunc(programs, func(p string) bool { return !below(p, c.Path) && !below(p, real) })}
	l.grant(real, 0)
	return l.read
}

// cache is a row of the table of caches: a folder below the home folder or at the
// place that a variable names.
type cache struct {
	path     string // below the home folder
	reason   string
	variable string   // its value replaces the default folder
	below    string   // path below the variable's value
	tools    []string // make the folder if it is absent and one of these is installed
	programs []string // names in the folder that other programs execute
	parts    []string // names in the folder to make if there are programs
	layered  bool     // only through a layer
}

// caches lists the folders that are writable by default. Folders on PATH and
// folders whose settings are read by programs outside of the sandbox are left out:
// ~/.cargo/bin, ~/.gradle/init.d, ~/.local/share/pnpm.
var caches = []cache{
	{path: ".cache", reason: "caches of many tools (Go, pip, Bazel, yarn, ...)", variable: "XDG_CACHE_HOME", tools: []string{"sh"}},
	{path: ".cache/go-build", reason: "Go: compiled packages", variable: "GOCACHE", tools: []string{"go"}},
	{path: "go/pkg/mod", reason: "Go: modules", variable: "GOMODCACHE", tools: []string{"go"}},
	{path: "go/pkg", reason: "Go: modules and checksums", variable: "GOPATH", below: "pkg", tools: []string{"go"}},
	{path: ".npm", reason: "npm: packages", variable: "npm_config_cache", tools: []string{"npm"}, programs: npmPrograms, parts: npmParts},
	{path: ".npm", reason: "npm: packages", variable: "NPM_CONFIG_CACHE", tools: []string{"npm"}, programs: npmPrograms, parts: npmParts},
	{path: ".yarn/berry/cache", reason: "yarn: packages", variable: "YARN_CACHE_FOLDER"},
	{path: ".local/share/pnpm/store", reason: "pnpm: packages", variable: "PNPM_HOME", below: "store", tools: []string{"pnpm", "corepack", "npx"}},
	{path: ".bun/install/cache", reason: "bun: packages", variable: "BUN_INSTALL_CACHE_DIR"},
	{path: ".cache/deno", reason: "deno: modules", variable: "DENO_DIR"},
	{path: ".cache/pip", reason: "pip: packages", variable: "PIP_CACHE_DIR"},
	{path: ".cache/uv", reason: "uv: packages", variable: "UV_CACHE_DIR"},
	{path: ".cargo/registry", reason: "cargo: crates", variable: "CARGO_HOME", below: "registry", tools: []string{"cargo"}},
	{path: ".cargo/git", reason: "cargo: crates from git", variable: "CARGO_HOME", below: "git", tools: []string{"cargo"}},
	{path: ".cargo/.package-cache", reason: "cargo: lock", variable: "CARGO_HOME", below: ".package-cache"},
	{path: ".m2/repository", reason: "Maven: artifacts", tools: []string{"mvn"}},
	{path: ".java/.userPrefs", reason: "Java: preferences, with the startup of jshell", tools: []string{"java"}, layered: true},
	{path: ".gradle/caches", reason: "Gradle: artifacts", variable: "GRADLE_USER_HOME", below: "caches", tools: []string{"gradle"}},
	{path: ".gradle/daemon", reason: "Gradle: logs of daemons", variable: "GRADLE_USER_HOME", below: "daemon", tools: []string{"gradle"}},
	{path: ".gradle/native", reason: "Gradle: libraries", variable: "GRADLE_USER_HOME", below: "native", tools: []string{"gradle"}},
	{path: ".gradle/wrapper", reason: "Gradle: its versions", variable: "GRADLE_USER_HOME", below: "wrapper", tools: []string{"gradle"}, programs: []string{"dists"}},
	{path: ".gradle/workers", reason: "Gradle: workers", variable: "GRADLE_USER_HOME", below: "workers", tools: []string{"gradle"}},
	{path: ".gradle/.tmp", reason: "Gradle: temporary files", variable: "GRADLE_USER_HOME", below: ".tmp", tools: []string{"gradle"}},
	{path: ".ivy2/cache", reason: "Ivy, sbt: artifacts"},
	{path: ".sbt/boot", reason: "sbt: its versions"},
	{path: ".nuget/packages", reason: "NuGet: packages", variable: "NUGET_PACKAGES"},
	{path: ".composer/cache", reason: "Composer: packages", variable: "COMPOSER_CACHE_DIR"},
	{path: ".bundle/cache", reason: "Bundler: gems"},
	{path: ".cabal/packages", reason: "Cabal: packages"},
	{path: ".hex/packages", reason: "Hex: packages"},
	{path: ".pub-cache", reason: "Dart: packages", variable: "PUB_CACHE", programs: []string{"bin", "global_packages"}, parts: []string{"hosted", "hosted-hashes", "git", "_temp"}},
	{path: ".conan2/p", reason: "Conan: packages"},
	{path: ".ccache", reason: "ccache: compiled files", variable: "CCACHE_DIR"},
	{path: "Library/Caches", reason: "caches of many tools (macOS)"},
}

var (
	npmPrograms = []string{"_npx", "_prebuilds"}
	npmParts    = []string{"_cacache", "_logs"}
)

// Caches lists the caches that builds need: existing ones, and those that an
// installed tool would make on its first run. getenv returns variables of the
// commands' environment. A folder inside another of the list is left out.
func Caches(home string, getenv func(string) string) []Cache {
	goenv := goSettings(home, getenv)
	found := map[string]bool{} // whether a program is installed, for those looked up
	places := secretPlaces(home)
	var out []Cache
	for _, c := range caches {
		path := filepath.Join(home, c.path)
		value := ""
		if c.variable != "" {
			if value = getenv(c.variable); value == "" {
				value = goenv[c.variable]
			}
		}
		if c.variable == "GOPATH" {
			value, _, _ = strings.Cut(value, string(filepath.ListSeparator))
		}
		if value != "" {
			if !filepath.IsAbs(value) || len(filepath.SplitList(value)) > 1 {
				continue // "off", or a value that the tool itself rejects
			}
			path = filepath.Join(value, c.below)
		}
		if !mayBecomeCache(path, places) {
			continue
		}
		_, err := os.Stat(path)
		if err == nil || os.IsNotExist(err) && slices.ContainsFunc(c.tools, func(tool string) bool { return installed(tool, getenv("PATH"), found) }) {
			out = append(out, Cache{path, c.reason, err != nil, c.programs, c.parts, c.layered})
		}
	}
	slices.SortStableFunc(out, func(a, b Cache) int { return strings.Compare(a.Path, b.Path) })
	var kept []Cache
	for _, c := range out {
		if !slices.ContainsFunc(kept, func(k Cache) bool { return below(c.Path, k.Path) }) {
			kept = append(kept, c)
		}
	}
	return kept
}

// secretPlaces returns the paths of secrets.
func secretPlaces(home string) []string {
	out := make([]string, len(secrets))
	for i, s := range secrets {
		out[i] = filepath.Join(home, strings.TrimSuffix(s.path, "*"))
	}
	return out
}

// mayBecomeCache reports whether path may become writable as a cache. It rejects the home
// folder, its parents, folders that hold secrets, and system folders.
func mayBecomeCache(path string, secrets []string) bool {
	for _, s := range secrets {
		if below(path, s) || below(s, path) {
			return false
		}
	}
	return !slices.Contains(systemFolders, path)
}

// goSettings reads the file that `go env -w` writes.
func goSettings(home string, getenv func(string) string) map[string]string {
	out := map[string]string{}
	path := getenv("GOENV")
	if path == "off" {
		return out
	}
	if path == "" {
		config := getenv("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(home, ".config")
		}
		path = filepath.Join(config, "go", "env")
	}
	f, err := os.Open(path)
	if err != nil {
		return out
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok {
			out[name] = value
		}
	}
	return out
}

// installed reports whether a program is in PATH. It caches the answer in found.
func installed(tool, path string, found map[string]bool) bool {
	there, known := found[tool]
	if !known {
		there = slices.ContainsFunc(filepath.SplitList(path), func(folder string) bool {
			st, err := os.Stat(filepath.Join(folder, tool))
			return err == nil && !st.IsDir()
		})
		found[tool] = there
	}
	return there
}

// InLayer returns the folder of a layer that holds the changes below a layered folder.
func InLayer(layer, folder string) string { return filepath.Join(layer, layerName(folder), "upper") }

// layerName returns the name of the folder of a layer that holds the changes below a path.
func layerName(path string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(path)))[:16] }
