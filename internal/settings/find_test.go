package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/policy"
)

// place is a simulated machine: a home folder, a project and a state folder.
type place struct {
	t    *testing.T
	base string
	env  map[string]string
	o    Options
}

func newPlace(t *testing.T) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, base: base, env: map[string]string{}}
	p.o = Options{
		Home: p.at("home"), Getenv: func(k string) string { return p.env[k] }, Roots: []string{p.at("work")},
		State: p.at("state"), Managed: p.at("etc/managed.json"),
	}
	p.folder("home", 0o755)
	p.folder("work", 0o755)
	return p
}

func (p *place) at(name string) string { return filepath.Join(p.base, filepath.FromSlash(name)) }

func (p *place) folder(name string, mode os.FileMode) {
	p.t.Helper()
	if err := os.MkdirAll(p.at(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chmod(p.at(name), mode); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) file(name, text string) string {
	p.t.Helper()
	p.folder(filepath.Dir(name), 0o755)
	if err := os.WriteFile(p.at(name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chmod(p.at(name), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return p.at(name)
}

func (p *place) find() *Found {
	p.t.Helper()
	f, err := Find(p.o)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

// layers returns a short form of a Found: "name file", followed by ! if the file is
// not trusted and by - if it is absent.
func (p *place) layers(f *Found) string {
	var out []string
	for _, l := range f.Layers {
		rel, err := filepath.Rel(p.base, l.Path)
		if err != nil {
			p.t.Fatal(err)
		}
		switch {
		case l.Settings == nil:
			rel += "-"
		case !l.Trusted:
			rel += "!"
		}
		out = append(out, l.Name+" "+filepath.ToSlash(rel))
	}
	return strings.Join(out, ", ")
}

const (
	userFile = "home/.config/mcp-toolset/settings.json"
	workFile = "work/.mcp-toolset/settings.json"
)

// TestNothing checks that without any file there are no settings and no error, and
// that no file is created.
func TestNothing(t *testing.T) {
	p := newPlace(t)
	f := p.find()
	if f.Merged != nil || len(f.Warnings) > 0 || f.AddTo != p.at(userFile) {
		t.Errorf("%+v", f)
	}
	if have := p.layers(f); have != "managed etc/managed.json-, project "+workFile+"-, user "+userFile+"-" {
		t.Error(have)
	}
	if entries, err := os.ReadDir(p.base); err != nil || len(entries) != 2 {
		t.Errorf("there is %v, %v", entries, err)
	}
	for _, path := range []string{workFile, userFile, "etc/managed.json", "state/trust.json", "home/.config/mcp-toolset"} {
		if !slices.Contains(f.Files, p.at(path)) {
			t.Errorf("%s may be written: %q", path, f.Files)
		}
	}
	if diff := cmp.Diff([]string{p.at("state"), p.at("home/.config/mcp-toolset")}, f.Closed); diff != "" {
		t.Errorf("closed (-want +have):\n%s", diff)
	}
	// A home folder that is not one.
	p.o.Home = ""
	if f := p.find(); f.AddTo != "" || len(f.Closed) != 1 {
		t.Errorf("no home: %+v", f)
	}
	p.o.Home = p.file("nothing", "")
	if f := p.find(); len(f.Closed) != 1 {
		t.Errorf("a home that is a file: %+v", f)
	}
}

// manages reports whether a file of the user running the tests can be the
// administrator's file.
func manages() bool { return !hasOwners || os.Geteuid() == 0 }

// TestAuthority checks that the most authoritative file sets a value, that each root
// has its own file, and that each file is read once.
func TestAuthority(t *testing.T) {
	p := newPlace(t)
	p.folder("lib", 0o755)
	p.o.Roots = append(p.o.Roots, p.at("lib"))
	guard := func(s string) string {
		return fmt.Sprintf(`{"editGuard":%q,"permissions":{"deny":["Read(/%s)"]}}`, s, s)
	}
	p.file(userFile, guard("off"))
	if f := p.find(); f.Merged.EditGuard() != "off" {
		t.Errorf("user: %s", f.Merged.EditGuard())
	}
	p.file("lib/.mcp-toolset/settings.json", `{"permissions":{"deny":["Read(/x)"]}}`)
	p.o.Explicit = p.file("given/.conf/s.json", guard("strict"))
	if f := p.find(); f.Merged.EditGuard() != "strict" || f.AddTo != p.o.Explicit {
		t.Errorf("command line: %+v", f)
	}
	given := p.o.Explicit
	p.o.Explicit = p.at(userFile)
	if have := p.layers(p.find()); strings.Count(have, userFile) != 1 || !strings.Contains(have, "command line "+userFile) {
		t.Errorf("twice: %s", have)
	}
	p.o.Explicit = p.at("lib/.mcp-toolset/settings.json")
	if have := p.layers(p.find()); strings.Count(have, "lib/") != 1 {
		t.Errorf("twice: %s", have)
	}
	p.o.Explicit = p.at("none.json")
	if _, err := Find(p.o); err == nil || err.Error() != "reading settings: "+p.at("none.json")+": no such file or directory" {
		t.Errorf("none: %v", err)
	}
	p.o.Explicit = given
	if !manages() {
		return // only root could have written the next file
	}
	p.file("etc/managed.json", guard("default"))
	f := p.find()
	if f.Merged.EditGuard() != "default" {
		t.Errorf("managed: %s", f.Merged.EditGuard())
	}
	if have := p.layers(f); have != "managed etc/managed.json, command line given/.conf/s.json, project "+workFile+"-, project lib/.mcp-toolset/settings.json, user "+userFile {
		t.Error(have)
	}
	// Patterns begin at the folder of their own file, at the parent of a dot folder, and at
	// the project.
	rules := policy.New(policy.Config{Rules: f.Merged.Rules(), Roots: []string{p.base}})
	for _, path := range []string{"etc/default", "given/strict", "lib/x", "home/.config/mcp-toolset/off"} {
		if d := rules.CheckPath("Read", nil, policy.Target{Literal: p.at(path), Canonical: p.at(path)}, p.base, nil); d.Behavior != policy.Deny {
			t.Errorf("%s: %s", path, d.Behavior)
		}
	}
}

// TestConfigFolder checks that the XDG folder is used if it is absolute.
func TestConfigFolder(t *testing.T) {
	for _, c := range []struct{ xdg, home, want string }{
		{"", "/h", "/h/.config/mcp-toolset"}, {"/x", "/h", "/x/mcp-toolset"}, {"x", "/h", "/h/.config/mcp-toolset"}, {"", "", ""}, {"", "h", ""},
	} {
		if have := ConfigFolder(func(string) string { return c.xdg }, c.home); have != c.want {
			t.Errorf("%+v: %s", c, have)
		}
	}
}

// TestBroken checks that a file that cannot be read as settings stops the start with
// an error that names it. The file of an untrusted project causes only a warning.
func TestBroken(t *testing.T) {
	for _, name := range []string{"etc/managed.json", userFile, workFile, "given.json"} {
		if strings.HasPrefix(name, "etc/") && !manages() {
			continue
		}
		for text, want := range map[string]string{
			"{":                                "parsing settings FILE: line 1, column 2: the file ends too early; a quote or bracket is not closed",
			"{\n\"editGuard\": 1}":             `parsing settings FILE: line 2: editGuard: want "strict", "default" or "off", have a number`,
			strings.Repeat(" ", maxSettings+1): "reading settings: FILE is larger than 1048576 bytes",
		} {
			p := newPlace(t)
			path := p.file(name, text)
			if name == "given.json" {
				p.o.Explicit = path
			}
			f, err := Find(p.o)
			if want = strings.ReplaceAll(want, "FILE", path); name == workFile {
				want += "; nothing of the file holds, since the project is not trusted"
				if err != nil || !slices.Equal(f.Warnings, []string{want}) || !f.Layers[1].Broken || !strings.HasPrefix(f.Notice, "["+path+" cannot be read as settings. ") {
					t.Errorf("%+v, %v\nwant %s", f, err, want)
				}
			} else if err == nil || err.Error() != want {
				t.Errorf("%s: %v\nwant %s", name, err, want)
			}
		}
	}
}

// TestProjectTightens checks that only deny and ask rules of an untrusted file apply,
// and that a file with nothing else needs no trust.
func TestProjectTightens(t *testing.T) {
	p := newPlace(t)
	path := p.file(workFile, `{"permissions":{"deny":["Bash(rm)"]}}`)
	f := p.find()
	if !f.Layers[1].Trusted || len(f.Merged.Warnings()) > 0 {
		t.Errorf("it only denies: %+v", f.Layers[1])
	}
	p.file(workFile, `{"permissions":{"deny":["Bash(rm)"],"allow":["Bash"]},"editGuard":"off"}`)
	f = p.find()
	if f.Layers[1].Trusted || f.Merged.EditGuard() != "default" || len(f.Merged.Warnings()) != 1 || !strings.HasPrefix(f.Merged.Warnings()[0], path+" is not trusted") {
		t.Errorf("%+v %q", f.Layers[1], f.Merged.Warnings())
	}
}

// TestServers checks the effect of each layer on other servers.
func TestServers(t *testing.T) {
	p := newPlace(t)
	state := func(want string) {
		t.Helper()
		f := p.find()
		var have []string
		for _, u := range f.Merged.Upstreams() {
			if _, refused := f.Merged.UpstreamRefused(u); refused {
				u.Name += "!"
			}
			have = append(have, u.Name+" "+u.Command)
		}
		if strings.Join(have, ", ") != want {
			t.Errorf("%q, want %s", have, want)
		}
	}
	p.file(userFile, `{"mcpServers":{"a":{"command":"user"},"b":{"command":"user"},"c":{"command":"user"}}}`)
	state("a user, b user, c user")
	p.file(workFile, `{"mcpServers":{"a":{"command":"work"},"d":{"command":"work"}},"allowedMcpServers":[],"deniedMcpServers":["C"]}`)
	state("a user, b user, c! user")
	project, err := ReadProject(p.at("work"))
	if err != nil {
		t.Fatal(err)
	}
	if err := NewTrust(p.o.State).Add(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	state("a! work, b! user, c! user, d! work")
	p.o.Explicit = p.file("given.json", `{"mcpServers":{"a":{"disabled":true},"b":{"command":"given"}},"allowedMcpServers":["d","b"]}`)
	state("b given, c! user, d work")
	if manages() {
		p.file("etc/managed.json", `{"deniedMcpServers":[{"serverCommand":["given"]}],"allowedMcpServers":["*"]}`)
		state("b! given, c! user, d work")
	}
	// A malformed denied list stops the start.
	p.file("given.json", `{"deniedMcpServers":[{"name":"x"}]}`)
	if _, err := Find(p.o); err == nil || !strings.Contains(err.Error(), "deniedMcpServers[0]: want a name") {
		t.Errorf("%v", err)
	}
}
