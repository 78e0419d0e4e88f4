package registry

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/web/site"
)

// TestKnown checks that the hosts are public names, each of them once.
func TestKnown(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range Known() {
		s := site.Site{Host: h.Name, Port: 443}
		if seen[h.Name] || s.Class() != site.Public || !h.Pattern.Exactly(s) {
			t.Errorf("%s is listed twice, or not a public host", h.Name)
		}
		seen[h.Name] = true
	}
	for _, forge := range []string{"github.com", "gitlab.com", "storage.googleapis.com", "raw.githubusercontent.com", "ghcr.io"} {
		if seen[forge] {
			t.Errorf("%s serves files of any user", forge)
		}
	}
}

// TestBackground checks hosts that browsers and build tools reach by themselves, and that no registry is among them.
func TestBackground(t *testing.T) {
	for name, want := range map[string]bool{
		"clients2.google.com": true, "update.googleapis.com": true, "r4---sn-4g5e6nsz.gvt1.com": true, "redirector.gvt1.com": true, "optimizationguide-pa.googleapis.com": true,
		"safebrowsing.googleapis.com": true, "accounts.google.com": true, "mtalk.google.com": true, "firefox.settings.services.mozilla.com": true, "edge.microsoft.com": true, "telemetry.nextjs.org": true, "checkpoint-api.hashicorp.com": true,
		"www.google.com": false, "google.com": false, "storage.googleapis.com": false, "fonts.googleapis.com": false, "www.gstatic.com": false, "gvt1.com.example": false,
		"mozilla.org": false, "microsoft.com": false, "github.com": false,
	} {
		for _, port := range []uint16{80, 443, 5228} {
			if got := Background(site.Site{Host: name, Port: port}); got != want {
				t.Errorf("%s:%d: %v", name, port, got)
			}
		}
	}
	for _, h := range Known() {
		if Background(site.Site{Host: h.Name, Port: 443}) {
			t.Errorf("%s is a registry", h.Name)
		}
	}
}

// TestConfigured checks the hosts of configurations of users.
func TestConfigured(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{
		".config/go/env":        "GOFLAGS=-mod=mod\nGOPROXY=https://go.corp.example/mod,direct\n",
		".npmrc":                "@x:registry=http://169.254.169.254/\n@y:registry=http://127.0.0.1:5432/\n@z:registry=http://localhost:1/\n# https://no.example\nregistry=https://npm.corp.example/\n@team:registry = \"http://10.1.2.3:4873/npm/\"\n//npm.corp.example/:_authToken=secret\nproxy=http://proxy.example:3128\n",
		".config/pip/pip.conf":  "[global]\nindex-url = https://user:secret@pip.corp.example/simple\nextra-index-url =\n    https://a.example/simple\n    https://b.example:8443/simple\nproxy = http://proxy.example\ntrusted-host = no.example\n",
		".cargo/config.toml":    "[registries.corp]\nindex = \"sparse+https://cargo.corp.example/index/\"\n[source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\nregistry = \"https://mirror.example/git\"\n[source.local]\ndirectory = \"/x\"\n",
		"project/.npmrc":        "registry=https://evil.example/\n",
		"other/config.toml":     "[registries.x]\nindex = \"https://other.example\"\n",
		"broken/pip.conf":       "index-url = not a url\n\n extra\n",
		"broken/config.toml":    "[registries",
		"xdg/go/env":            "GOPROXY=https://xdg.example",
		"go-env":                "GOPROXY=https://goenv.example|https://second.example",
		"planted/pip.conf":      "index-url = https://evil.example\n",
		"planted/deep/pip.conf": "index-url = https://evil.example\n",
	} {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const files = "go.corp.example npm.corp.example 10.1.2.3:4873 pip.corp.example a.example b.example:8443 cargo.corp.example mirror.example"
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"files":                {nil, files},
		"GOPROXY":              {map[string]string{"GOPROXY": "https://env.example,https://[fd00::5]:81/x|off"}, strings.Replace(files, "go.corp.example", "env.example [fd00::5]:81", 1)},
		"other go files":       {map[string]string{"GOENV": filepath.Join(home, "go-env")}, strings.Replace(files, "go.corp.example", "goenv.example second.example", 1)},
		"XDG_CONFIG_HOME":      {map[string]string{"XDG_CONFIG_HOME": filepath.Join(home, "xdg")}, strings.Replace(files, "go.corp.example", "xdg.example", 1)},
		"variables of pip":     {map[string]string{"PIP_INDEX_URL": "https://i.example/simple", "PIP_EXTRA_INDEX_URL": "https://j.example https://k.example", "PIP_FIND_LINKS": "/opt/wheels"}, files + " i.example j.example k.example"},
		"this machine":         {map[string]string{"GOPROXY": "http://127.0.0.1:3000,http://169.254.169.254"}, strings.Replace(files, "go.corp.example", "127.0.0.1:3000", 1)},
		"uv":                   {map[string]string{"UV_INDEX": "corp=https://uv.example/simple"}, files + " uv.example"},
		"CARGO_HOME":           {map[string]string{"CARGO_HOME": filepath.Join(home, "other")}, strings.Replace(files, "cargo.corp.example mirror.example", "other.example", 1)},
		"broken files":         {map[string]string{"PIP_CONFIG_FILE": filepath.Join(home, "broken", "pip.conf"), "CARGO_HOME": filepath.Join(home, "broken")}, strings.Replace(files, " cargo.corp.example mirror.example", "", 1)},
		"written by a command": {map[string]string{"PIP_CONFIG_FILE": filepath.Join(home, "planted", "deep", "pip.conf")}, files},
	} {
		s := System{
			Home: home, Getenv: func(name string) string { return c.env[name] },
			Skip: func(path string) bool { return strings.HasPrefix(path, filepath.Join(home, "planted")) },
		}
		got := map[string]bool{}
		for _, h := range s.Configured() {
			if strings.HasPrefix(h.For, "/etc/") {
				continue // of this machine
			}
			got[h.Name] = true
			if strings.Contains(h.Name+h.For, "secret") {
				t.Errorf("%s: %+v", name, h)
			}
		}
		if want := strings.Fields(c.want); !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: %v\nnot %v", name, slices.Sorted(maps.Keys(got)), want)
		}
	}
}
