package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func touch(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func needUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("paths of Unix")
	}
}

func TestPolicyIsPlainData(t *testing.T) {
	p := Policy{ReadOnly: true, Write: []string{"/w"}, Hide: []string{"/w/h"}, Outside: Namespaces{Mount: "m"}}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var q Policy
	if err := json.Unmarshal(text, &q); err != nil || !reflect.DeepEqual(p, q) {
		t.Errorf("%v: %+v is %+v", err, p, q)
	}
}

func TestPolicyCheck(t *testing.T) {
	needUnix(t)
	for _, c := range []struct {
		p  Policy
		ok bool
	}{
		{Policy{Write: []string{"/w"}, TempDir: "/t"}, true},
		{Policy{Write: []string{"w"}}, false},
		{Policy{Hide: []string{"/a\x00b"}}, false},
		{Policy{Write: []string{"/"}}, false},
		{Policy{Write: []string{"//."}}, false},
		{Policy{ReadOnly: true, Write: []string{"/"}}, true},
		{Policy{Read: []string{"/"}}, true},
	} {
		if err := c.p.check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		path, folder string
		want         bool
	}{
		{"/a", "/a", true}, {"/a/b", "/a", true}, {"/ab", "/a", false}, {"/", "/a", false}, {"/a", "/", true},
	} {
		if got := below(c.path, c.folder); got != c.want {
			t.Errorf("below(%s, %s) is %v", c.path, c.folder, got)
		}
	}
}

// home makes a home folder with the given files.
func home(t *testing.T, files ...string) string {
	t.Helper()
	h, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		touch(t, filepath.Join(h, f), "x\n")
	}
	return h
}

func TestReadable(t *testing.T) {
	needUnix(t)
	h := home(t, ".ssh/id_rsa", ".docker/config.json", ".docker/daemon.json", ".config/gh/hosts.yml", ".config/go/env",
		".config/google-chrome-beta/Cookies", "go/src/a.go", ".gitconfig", ".bash_history", ".local/share/keyrings/k",
		".local/share/fonts/f", ".local/bin/tool", "state/token", "state2/x", ".netrc")
	touch(t, h+"/.npmrc", "//registry.npmjs.org/:_authToken=x\n")
	touch(t, h+"/.yarnrc.yml", "nodeLinker: node-modules\n")
	for link, to := range map[string]string{"keys": ".ssh", "elsewhere": "/", "mine": "go"} {
		if err := os.Symlink(to, h+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	read, secret := Readable(h, nil, h+"/state", "relative")
	var got []string
	for _, r := range read {
		if below(r, h) {
			got = append(got, strings.TrimPrefix(r, h+"/"))
		}
	}
	want := []string{".config/go", ".docker/daemon.json", ".gitconfig", ".local/bin", ".local/share/fonts", ".yarnrc.yml", "go", "state2"}
	if !slices.Equal(got, want) {
		t.Errorf("readable is\n%q, want\n%q", got, want)
	}
	for _, s := range []string{".ssh", ".netrc", "state", ".docker/config.json", ".config/gh", ".config/google-chrome-beta", ".npmrc", ".aws"} {
		if !slices.Contains(secret, h+"/"+s) {
			t.Errorf("%s is no secret", s)
		}
	}
	if slices.Contains(secret, h+"/.yarnrc.yml") || slices.Contains(secret, "relative") {
		t.Errorf("secrets are %q", secret)
	}
	for _, r := range read {
		for _, s := range secret {
			if below(r, s) || below(s, r) {
				t.Errorf("%s is readable, and %s is secret", r, s)
			}
		}
		if r == "/run" || r == "/tmp" || r == "/dev" {
			t.Errorf("%s is readable whole", r)
		}
	}
	for _, s := range []string{"", "/", "relative"} {
		if read, _ := Readable(s, nil); slices.Contains(read, "/") || slices.Contains(read, "/root") || slices.Contains(read, "/home") {
			t.Errorf("home %q makes readable %q", s, read)
		}
	}
}

// TestReadableHomeByLink checks that a link as the home folder is resolved: its
// files are listed by their real paths, and its secrets are not listed.
func TestReadableHomeByLink(t *testing.T) {
	needUnix(t)
	h := home(t, "u/.ssh/key", "u/notes")
	if err := os.Symlink("u", h+"/link"); err != nil {
		t.Fatal(err)
	}
	read, secret := Readable(h+"/link", nil)
	if !slices.Contains(read, h+"/u/notes") || !slices.Contains(secret, h+"/u/.ssh") || belowAny(h+"/u/.ssh", read) {
		t.Errorf("readable is %q, secrets are %q", read, secret)
	}
}

func TestTablesHaveReasons(t *testing.T) {
	for _, s := range slices.Concat(secrets, cacheSecrets, systemSecrets) {
		if s.reason == "" || s.path == "" {
			t.Errorf("%q has no reason", s.path)
		}
	}
	for _, c := range caches {
		if c.reason == "" || c.path == "" {
			t.Errorf("%q has no reason", c.path)
		}
	}
	names := map[string]bool{}
	for _, p := range promises {
		if names[p.name] || p.meaning == "" || p.reason == "" {
			t.Errorf("%q has no meaning or is there twice", p.name)
		}
		names[p.name] = true
	}
}

func TestCaches(t *testing.T) {
	needUnix(t)
	h := home(t, ".cache/x", ".cargo/registry/x", ".cargo/credentials.toml", ".m2/repository/x", "bin/npm", "elsewhere/mod/x", "set/x")
	if err := os.Chmod(h+"/bin/npm", 0o755); err != nil {
		t.Fatal(err)
	}
	touch(t, h+"/.config/go/env", "GOMODCACHE="+h+"/elsewhere/mod\n")
	env := map[string]string{"PATH": h + "/bin", "GOCACHE": h + "/set", "CCACHE_DIR": h, "DENO_DIR": h + "/.ssh/deno",
		"PUB_CACHE": "relative", "GOPATH": h + "/elsewhere" + ":" + h + "/other", "YARN_CACHE_FOLDER": "/usr"}
	var got []string
	for _, c := range Caches(h, func(name string) string { return env[name] }) {
		absent := ""
		if c.Absent {
			absent = " absent"
		}
		got = append(got, strings.TrimPrefix(c.Path, h+"/")+absent)
	}
	want := []string{".cache", ".cargo/registry", ".m2/repository", ".npm absent", "elsewhere/mod", "set"}
	if !slices.Equal(got, want) {
		t.Errorf("caches are %q, want %q", got, want)
	}
}
