package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUndo(t *testing.T) {
	var none *Settings
	if u := none.Undo(); !u.Enabled || u.Quota != 0 || u.Destructive {
		t.Errorf("%+v", u)
	}
	for text, want := range map[string]Undo{
		`{}`:                                     {Enabled: true},
		`{"undo": {}}`:                           {Enabled: true},
		`{"undo": {"enabled": false}}`:           {},
		`{"undo": {"quota": "16MiB"}}`:           {Enabled: true, Quota: 16 << 20},
		`{"undo": {"quota": "3 GiB"}}`:           {Enabled: true, Quota: 3 << 30},
		`{"undo": {"destructive": "allow"}}`:     {Enabled: true, Destructive: true},
		`{"undo": {"destructive": "ask"}}`:       {Enabled: true},
		`{"undo": {"quota": "1TiB", "x": true}}`: {Enabled: true, Quota: 1 << 40},
	} {
		s, err := Parse([]byte(text), "s.json", "/p")
		if err != nil || s.Undo() != want {
			t.Errorf("%s: %+v, %v", text, s.Undo(), err)
		}
	}
	for text, want := range map[string]string{
		`{"undo": true}`:                     "undo: want an object",
		`{"undo": {"enabled": "yes"}}`:       "undo.enabled: want true or false",
		`{"undo": {"quota": "2 bytes"}}`:     `undo.quota: want a size from 16MiB to 1TiB, such as "2GiB"`,
		`{"undo": {"quota": "15MiB"}}`:       "undo.quota: want a size",
		`{"undo": {"quota": "9999999TiB"}}`:  "undo.quota: want a size",
		`{"undo": {"quota": 5}}`:             "undo.quota: want a size",
		`{"undo": {"destructive": "never"}}`: `undo.destructive: want "ask" or "allow"`,
	} {
		if _, err := Parse([]byte(text), "s.json", "/p"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestUndoOfProject checks that a project, even a trusted one, neither turns the recording off nor
// allows commands that destroy.
func TestUndoOfProject(t *testing.T) {
	root := t.TempDir()
	path := projectFile(root)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"undo": {"enabled": false, "destructive": "allow"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := ReadProject(root)
	if err != nil {
		t.Fatal(err)
	}
	if u := p.Settings.Undo(); u != (Undo{Enabled: true}) {
		t.Errorf("%+v", u)
	}
	if w := strings.Join(p.Settings.Warnings(), "\n"); !strings.Contains(w, "undo: a project cannot set it, ignored; set it in your own settings") {
		t.Error(w)
	}
}
