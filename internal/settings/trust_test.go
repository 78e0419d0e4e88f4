package settings

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const loose = `{"permissions":{"allow":["Bash"]},"editGuard":"off"}`

// TestTrust checks that a project is trusted until its file changes, and again when
// the file has its former content.
func TestTrust(t *testing.T) {
	p := newPlace(t)
	p.file(workFile, loose)
	trust := NewTrust(p.o.State)
	holds := func(want string) {
		t.Helper()
		f := p.find()
		l := f.Layers[1]
		have := "not trusted"
		switch {
		case l.Trusted && f.Merged.EditGuard() == "off":
			have = "trusted"
		case l.Changed && len(f.Warnings) == 1 && f.Warnings[0] == l.Path+" changed since it was trusted":
			have = "changed"
		}
		if have != want || have != "trusted" && f.Merged.EditGuard() != "default" {
			t.Errorf("%s, %q, want %s", have, f.Warnings, want)
		}
	}
	project := func() *ProjectSettings {
		t.Helper()
		s, err := ReadProject(p.at("work"))
		if err != nil || s == nil {
			t.Fatal(s, err)
		}
		return s
	}
	holds("not trusted")
	if dirs, err := trust.List(); err != nil || len(dirs) != 0 {
		t.Errorf("%q, %v", dirs, err)
	}
	if err := trust.Add(t.Context(), project()); err != nil {
		t.Fatal(err)
	}
	holds("trusted")
	p.file(workFile, loose+" ")
	holds("changed")
	p.file(workFile, loose)
	holds("trusted")
	p.file(workFile, loose+"\n")
	if err := trust.Add(t.Context(), project()); err != nil {
		t.Fatal(err)
	}
	holds("trusted")
	if dirs, err := trust.List(); err != nil || len(dirs) != 1 || dirs[0] != p.at("work") {
		t.Errorf("%q, %v", dirs, err)
	}
	// Another project with the same file is not trusted.
	p.file("other/.mcp-toolset/settings.json", loose+"\n")
	p.o.Roots = []string{p.at("other")}
	holds("not trusted")
	p.o.Roots = []string{p.at("work")}
	for _, want := range []bool{true, false} {
		if was, err := trust.Remove(t.Context(), p.at("work")); err != nil || was != want {
			t.Errorf("%v, %v", was, err)
		}
	}
	holds("not trusted")
	info, err := os.Stat(p.at("state/trust.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	entries, err := os.ReadDir(p.at("state"))
	if err != nil || len(entries) != 2 { // including the locks
		t.Errorf("left: %v, %v", entries, err)
	}
}

// TestTrustRefused checks that a trust file that another user could have written, or
// that has another format than ours, trusts no project, and that the server starts.
func TestTrustRefused(t *testing.T) {
	hash := strings.Repeat("0", 64)
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{`{"version":1,"projects":{}}`, 0o620, "can be written by others"},
		{`{"version":1,"projects":{}}`, 0o602, "can be written by others"},
		{``, 0o600, "is damaged: EOF"},
		{`{"version":1,"projects":{}} {}`, 0o600, "is damaged, or of another version"},
		{`{"version":2,"projects":{}}`, 0o600, "is damaged, or of another version"},
		{`{"version":1}`, 0o600, "is damaged, or of another version"},
		{`{"version":1,"projects":{},"more":1}`, 0o600, `is damaged: json: unknown field "more"`},
		{`{"version":1,"projects":{"work":"` + hash + `"}}`, 0o600, "is damaged: it has an entry that is none"},
		{`{"version":1,"projects":{"/work":""}}`, 0o600, "is damaged: it has an entry that is none"},
		{strings.Repeat(" ", maxTrust+1), 0o600, fmt.Sprintf("is larger than %d bytes", maxTrust)},
	} {
		p := newPlace(t)
		p.file(workFile, loose)
		path := p.file("state/trust.json", c.text)
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		f := p.find()
		want := []string{"reading what is trusted: " + path + " " + c.want + "; mend or remove it: no project is trusted until that is mended"}
		if diff := cmp.Diff(want, f.Warnings); diff != "" || f.Layers[1].Trusted {
			t.Errorf("%.60q (-want +have):\n%s", c.text, diff)
		}
		if err := NewTrust(p.o.State).Add(t.Context(), &ProjectSettings{Dir: "/x", Hash: hash}); err == nil {
			t.Errorf("%.60q: it was written over", c.text)
		}
	}
}

// TestTrustTogether checks that no trust is lost when several projects are added
// concurrently.
func TestTrustTogether(t *testing.T) {
	p := newPlace(t)
	const many = 20
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			s := &ProjectSettings{Dir: fmt.Sprintf("/p%d", i), Hash: strings.Repeat("0", 64)}
			if err := NewTrust(p.o.State).Add(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if dirs, err := NewTrust(p.o.State).List(); err != nil || len(dirs) != many {
		t.Errorf("%d: %q, %v", len(dirs), dirs, err)
	}
}

// TestTrustWithoutSettings checks the trust in a project without settings, or with settings that
// need none: it counts for its skills, until there are others.
func TestTrustWithoutSettings(t *testing.T) {
	p := newPlace(t)
	trust := NewTrust(p.o.State)
	trusted := func(want bool) {
		t.Helper()
		if f := p.find(); (len(f.Trusted) == 1) != want {
			t.Errorf("trusted roots: %v", f.Trusted)
		}
	}
	trusted(false)
	if err := trust.Add(t.Context(), WithoutSettings(p.at("work"))); err != nil {
		t.Fatal(err)
	}
	trusted(true)
	p.file(workFile, `{"permissions":{"deny":["Bash"]}}`)
	trusted(false)
	s, err := ReadProject(p.at("work"))
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.Add(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	trusted(true)
	p.file(workFile, `{"permissions":{"deny":["Bash"]} }`)
	trusted(false)
	p.file(workFile, `{`)
	trusted(false)
}

// TestMachineFolder checks that the machine's folder counts only if no other user can change it.
func TestMachineFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := machineFolder(dir); hasOwners && (got == dir) != (os.Geteuid() == 0) {
		t.Errorf("a folder of this user: %q", got)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := machineFolder(dir); hasOwners && got != "" {
		t.Errorf("a folder that others can change: %q", got)
	}
	if got := machineFolder(dir + "/none"); got != "" {
		t.Errorf("no folder: %q", got)
	}
}
