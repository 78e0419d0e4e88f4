package settings

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnchors checks the warnings about patterns that begin with one slash.
func TestAnchors(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("the texts hold paths of Unix")
	}
	p := newPlace(t)
	p.folder("work/src", 0o755)
	p.folder("deep/er", 0o755)
	below := strings.TrimPrefix(p.at("deep"), "/") // two names or more that exist
	first, _, _ := strings.Cut(below, "/")
	user := p.file(userFile, `{"permissions":{"deny":["Read(/`+below+`/**)","Read(/secrets/**)","Read(/*/x)","Edit(secrets/**)","Read(//etc/x/**)"]}}`)
	work := p.file(workFile, `{"permissions":{"deny":["Read(/`+below+`/**)","Read(/src/`+below+`)","Edit(/nowhere/x)","Edit(/nowhere/**)"]}}`)
	config := p.at("home/.config/mcp-toolset")
	want := []string{
		"deny rule Read(/" + below + "/**) in " + work + ":1 begins at " + p.at("work") + ", which has no " + first + "; for a path from the file-system root write Read(//" + below + "/**)",
		"deny rule Read(/" + below + "/**) in " + user + ":1 begins at " + config + ", which no tool can access; for a path from the file-system root write Read(//" + below + "/**), for one in the working directory Read(" + below + "/**)",
		"deny rule Read(/secrets/**) in " + user + ":1 begins at " + config + ", which no tool can access; for a path from the file-system root write Read(//secrets/**), for one in the working directory Read(secrets/**)",
	}
	if diff := cmp.Diff(want, p.find().Merged.Warnings()); diff != "" {
		t.Errorf("warnings (-want +have):\n%s", diff)
	}
	p.folder("work/"+first, 0o755)
	if w := p.find().Merged.Warnings(); len(w) != 2 {
		t.Errorf("with the folder in the project: %q", w)
	}
	// A project that is not trusted has the warnings of the rules that hold.
	p = newPlace(t)
	p.file(workFile, `{"permissions":{"deny":["Read(/`+below+`)"],"allow":["Read(/`+below+`)"],"additionalDirectories":["/no/such"]}}`)
	f := p.find()
	if w := f.Merged.Warnings(); len(w) != 2 || !strings.HasPrefix(w[0], "/") || !strings.HasPrefix(w[1], "deny rule") || f.Notice != "" {
		t.Errorf("not trusted: %q, %q", w, f.Notice)
	}
}

// TestSystemAnchors checks the warnings about patterns that begin with one slash and a
// folder of the system, in files of a project.
func TestSystemAnchors(t *testing.T) {
	if _, err := os.Stat("/etc"); os.PathSeparator != '/' || err != nil {
		t.Skip("needs folders of Unix")
	}
	for rule, want := range map[string]string{
		"Read(/etc/**)": "which has no etc; for a path from the file-system root write Read(//etc/**)", "Edit(/etc/**)": "which has no etc; for a path from the file-system root write Edit(//etc/**)",
		"Read(/etc)": "which has no etc; for a path from the file-system root write Read(//etc)", "Read(/usr/*/x)": "which has no usr; for a path from the file-system root write Read(//usr/*/x)", "Grep(/var/**)": "which has no var; for a path from the file-system root write Grep(//var/**)",
		"Read(/~/**)": "which has no ~; for a path from the home folder write Read(~/**)", "Read(/~/.ssh/x)": "which has no ~; for a path from the home folder write Read(~/.ssh/x)",
		"Read(/bin/**)": "", "Read(/docs/**)": "", "Read(//etc/**)": "", "Read(~/**)": "", "Read(etc/**)": "", "Read(/nowhere)": "",
	} {
		p := newPlace(t)
		p.folder("work/bin", 0o755)
		work := p.file(workFile, `{"permissions":{"deny":["`+rule+`"]}}`)
		var have []string
		for _, w := range p.find().Merged.Warnings() {
			if strings.Contains(w, " begins at ") {
				have = append(have, w)
			}
		}
		text := strings.Join(have, "\n")
		if want != "" {
			want = "deny rule " + rule + " in " + work + ":1 begins at " + p.at("work") + ", " + want
		}
		if text != want {
			t.Errorf("%s:\nhave %s\nwant %s", rule, text, want)
		}
	}
}

// TestMissingFolders checks that an additional directory that cannot be a root is a
// fault with its place.
func TestMissingFolders(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("the texts hold paths of Unix")
	}
	p := newPlace(t)
	p.file("home/a.txt", "")
	path := p.file(userFile, "{\"permissions\":{\"additionalDirectories\":[\n\""+p.at("work")+"\",\n\""+p.at("none")+"\", \""+p.at("home/a.txt")+"\"]}}")
	want := path + ":3: permissions.additionalDirectories: " + p.at("none") + " does not exist; make the folder, or remove the entry\n" +
		path + ":3: permissions.additionalDirectories: " + p.at("home/a.txt") + " is not a folder; name one, or remove the entry"
	if _, err := Find(p.o); err == nil || err.Error() != want {
		t.Errorf("have %v\nwant %s", err, want)
	}
	if s, err := Load(path); err != nil || strings.Join(s.Faults(nil), "\n") != want {
		t.Errorf("loaded: %q, %v", s.Faults(nil), err)
	}
}
