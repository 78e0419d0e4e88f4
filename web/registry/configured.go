package registry

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"mcp-toolset/web/site"
)

// maxFile is the limit of a configuration file, in bytes. What follows is ignored.
const maxFile = 1 << 20

// System describes where the configuration of the user is.
type System struct {
	Home   string              // "": none
	Getenv func(string) string // environment of the server
	// Skip reports whether a file is left out, because a command may have written it. It may
	// be nil.
	Skip func(path string) bool
}

// Configured returns the hosts that the user's own configuration of Go, npm, pip, uv and cargo
// names as registries. Files that cannot be read or parsed are left out, as are addresses of
// metadata services and the like and, in files, those of this machine: a program may have
// written them.
func (s System) Configured() []Host {
	inFiles := slices.DeleteFunc(s.inFiles(), func(h Host) bool { return h.class() >= site.Loopback })
	for _, h := range s.inVariables() {
		if h.class() != site.Reserved && !slices.ContainsFunc(inFiles, func(o Host) bool { return o.Name == h.Name }) {
			inFiles = append(inFiles, h)
		}
	}
	return inFiles
}

// class returns the class of the host.
func (h Host) class() site.Class {
	_, s, err := site.Parse("http://" + h.Name)
	if err != nil {
		return site.Reserved
	}
	return s.Class()
}

// inFiles returns the hosts that files name.
func (s System) inFiles() (hosts []Host) {
	if s.Home != "" {
		goEnv := cmp.Or(s.Getenv("GOENV"), filepath.Join(cmp.Or(s.Getenv("XDG_CONFIG_HOME"), filepath.Join(s.Home, ".config")), "go", "env"))
		for key, value := range s.lines(goEnv) {
			if key == "GOPROXY" && s.Getenv("GOPROXY") == "" {
				hosts = add(hosts, "GOPROXY in "+goEnv, proxies(value)...)
			}
		}
	}
	for _, file := range s.files("/etc/npmrc", s.Getenv("NPM_CONFIG_USERCONFIG"), ".npmrc") {
		for key, value := range s.lines(file) {
			if key == "registry" || strings.HasSuffix(key, ":registry") {
				hosts = add(hosts, file, strings.Trim(value, `"'`))
			}
		}
	}
	for _, file := range s.files("/etc/pip.conf", s.Getenv("PIP_CONFIG_FILE"), ".pip/pip.conf", ".config/pip/pip.conf") {
		key := ""
		for k, value := range s.lines(file) {
			if key = cmp.Or(k, key); key == "index-url" || key == "extra-index-url" || key == "find-links" {
				hosts = add(hosts, file, strings.Fields(value)...) // further values follow on lines of their own
			}
		}
	}
	for _, file := range s.files(filepath.Join(cmp.Or(s.Getenv("CARGO_HOME"), filepath.Join(s.Home, ".cargo")), "config.toml")) {
		hosts = add(hosts, file, s.cargo(file)...)
	}
	return hosts
}

// inVariables returns the hosts that variables name.
func (s System) inVariables() (hosts []Host) {
	hosts = add(hosts, "GOPROXY", proxies(s.Getenv("GOPROXY"))...)
	for _, name := range []string{
		"npm_config_registry", "NPM_CONFIG_REGISTRY", "YARN_NPM_REGISTRY_SERVER", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",
		"UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX", "CARGO_REGISTRIES_CRATES_IO_INDEX",
	} {
		hosts = add(hosts, name, named(s.Getenv(name))...)
	}
	return hosts
}

// proxies returns the URLs of GOPROXY.
func proxies(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '|' })
}

// named returns the URLs of a variable. uv writes NAME=URL.
func named(value string) (urls []string) {
	for word := range strings.FieldsSeq(value) {
		if name, rest, ok := strings.Cut(word, "="); ok && !strings.ContainsAny(name, ":/") {
			word = rest
		}
		urls = append(urls, word)
	}
	return urls
}

// cargo returns the registries and sources of a configuration of cargo.
func (s System) cargo(file string) (urls []string) {
	var config struct {
		Registries map[string]struct{ Index string }
		Source     map[string]struct{ Registry string }
	}
	if toml.Unmarshal(s.read(file), &config) != nil {
		return nil
	}
	for _, r := range config.Registries {
		urls = append(urls, r.Index)
	}
	for _, r := range config.Source {
		urls = append(urls, r.Registry)
	}
	return urls
}

// files returns the paths that are set, below the home folder if they are relative.
func (s System) files(paths ...string) (out []string) {
	for _, p := range paths {
		if p != "" && !filepath.IsAbs(p) {
			if s.Home == "" {
				continue
			}
			p = filepath.Join(s.Home, p)
		}
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// read returns the beginning of a file, or nil.
func (s System) read(file string) []byte {
	if s.Skip != nil && s.Skip(file) {
		return nil
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxFile))
	return data
}

// lines yields the assignments of a file, without comments and sections. The key is "" on a
// line that continues the one before it.
func (s System) lines(file string) func(yield func(key, value string) bool) {
	return func(yield func(key, value string) bool) {
		for sc := bufio.NewScanner(bytes.NewReader(s.read(file))); sc.Scan(); {
			line := strings.TrimSpace(sc.Text())
			if line == "" || strings.ContainsAny(line[:1], "#;[") {
				continue
			}
			key, value, ok := strings.Cut(line, "=")
			if continued := sc.Text()[0] == ' ' || sc.Text()[0] == '\t'; continued || !ok {
				key, value = "", line
			}
			if !yield(strings.TrimSpace(key), strings.TrimSpace(value)) {
				return
			}
		}
	}
}
