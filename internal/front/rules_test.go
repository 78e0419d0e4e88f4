package front

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/identity"
)

// TestRules checks the errors of files of rules, with their lines.
func TestRules(t *testing.T) {
	file := func(rule string) string {
		return "{\"version\": 1, \"base\": \"/w\", \"rules\": [\n  {\"workspace\": \"ok\", \"roots\": [\"{base}/{workspace}/a\"]},\n  " + rule + "]}"
	}
	const roots = `"roots": ["{base}/{workspace}/a"]`
	for text, want := range map[string]string{
		file(`{"workspace": "{principal}", ` + roots + `}`): "",
		file(`{"when": {"issuer": "https://i", "group": "g"}, "workspace": "dev-{principal}", "roots": ["{base}/{workspace}/a", "{base}/{workspace}/b/c"], "settings": "/s.json", "mode": "plan", "user": "u",
			"limits": {"requestsPerMinute": 1, "calls": 1, "sessions": 1, "commands": 1, "tasks": 1, "outputMB": 1, "memoryMB": 128, "cpu": 0.5}}`): "",
		``:  "line 1 of f: the file is not JSON: nothing is there",
		`1`: "line 1 of f: it is not an object",
		`{"version": 2, "base": "/w", "rules": []}`:                                             "line 1 of f: version is 2; this program knows 1",
		`{"version": 1, "base": "w", "rules": []}`:                                              "line 1 of f: base is w; use the absolute path of a folder, without .. and a / at its end",
		`{"version": 1, "base": "/w/../x", "rules": []}`:                                        "line 1 of f: base is /w/../x; use the absolute path of a folder, without .. and a / at its end",
		`{"version": 1, "base": "/` + strings.Repeat("w", 30) + `"}`:                            "line 1 of f: base has 31 characters; at most 30 are possible, as paths of sockets below it are short",
		`{"version": 1, "base": "/w", "rules": []}`:                                             "line 1 of f: there is no rule",
		"{\"version\": 1,\n\"Base\": \"/w\", \"rules\": []}":                                    `line 2 of f: Base is not known here; known are base, rules, version`,
		"{\"version\": 1, \"base\": \"/w\",\n\"rules\": [], \"rules\": []}":                     `line 2 of f: the key "rules" is given twice`,
		"{\"version\": 1,\n\"base\": 2}":                                                        "line 2 of f: base is a number; see the table of properties in docs/workspaces.md",
		file(`2`):                                                                               "line 3 of f: rule 2: it is not an object",
		file(`{"workspace": "a", "root": [], ` + roots + `}`):                                   "line 3 of f: rule 2: root is not known here; known are limits, mode, roots, settings, user, when, workspace",
		file("{\"workspace\": \"a\",\n\"when\": {\"Group\": \"x\"}, " + roots + `}`):            "line 4 of f: rule 2: when: Group is not known here; known are group, id, issuer, name",
		file(`{"workspace": "a", "limits": {"call": 1}, ` + roots + `}`):                        "line 3 of f: rule 2: limits: call is not known here; known are calls, commands, cpu, memoryMB, outputMB, requestsPerMinute, sessions, tasks",
		file(`{"when": {"group": "g"}, "workspace": "a", ` + roots + `}`):                       "line 3 of f: rule 2: when has a group without an issuer; each issuer has groups of its own",
		file(`{` + roots + `}`):                                                                 "line 3 of f: rule 2: workspace is missing; use a name, or {principal} for one of each user",
		file(`{"workspace": "../a", ` + roots + `}`):                                            "line 3 of f: rule 2: workspace is ../a; use a to z, 0 to 9 and -, at most 41 characters, and {principal}",
		file(`{"workspace": ".tmp", ` + roots + `}`):                                            "line 3 of f: rule 2: workspace is .tmp; use a to z, 0 to 9 and -, at most 41 characters, and {principal}",
		file(`{"workspace": "{name}", ` + roots + `}`):                                          "line 3 of f: rule 2: workspace is {name}; use a to z, 0 to 9 and -, at most 41 characters, and {principal}",
		file(`{"workspace": "{principal}{principal}", ` + roots + `}`):                          "line 3 of f: rule 2: workspace is {principal}{principal}; use a to z, 0 to 9 and -, at most 41 characters, and {principal}",
		file(`{"workspace": "a"}`):                                                              "line 3 of f: rule 2: roots is missing; use a folder such as {base}/{workspace}/work",
		file(`{"workspace": "a", "roots": ["/srv"]}`):                                           "line 3 of f: rule 2: the root /srv is not in the folder of the workspace; use a path that begins with {base}/{workspace}/, so that no other workspace has it",
		file(`{"workspace": "a", "roots": ["{base}/{workspace}/../b"]}`):                        "line 3 of f: rule 2: the root {base}/{workspace}/../b is not in the folder of the workspace; use a path that begins with {base}/{workspace}/, so that no other workspace has it",
		file(`{"workspace": "a", "roots": ["{base}/{workspace}"]}`):                             "line 3 of f: rule 2: the root {base}/{workspace} is not in the folder of the workspace; use a path that begins with {base}/{workspace}/, so that no other workspace has it",
		file(`{"workspace": "a", "roots": ["{base}/{workspace}/{principal}"]}`):                 "line 3 of f: rule 2: the root {base}/{workspace}/{principal} has {principal}; there are {base} and {workspace}",
		file(`{"workspace": "a", "roots": ["{base}/{workspace}/state/a"]}`):                     "line 3 of f: rule 2: the root {base}/{workspace}/state/a is in home or state or state-worktrees, which the server has for itself; use another name",
		file(`{"workspace": "a", "roots": ["{base}/{workspace}/b", "{base}/{workspace}/b/c"]}`): "line 3 of f: rule 2: the root {base}/{workspace}/b/c overlaps with another; leave out one of them",
		file(`{"workspace": "a", "mode": "bypassPermissions", ` + roots + `}`):                  "line 3 of f: rule 2: mode is bypassPermissions, which is not for the users of a server; use another",
		file(`{"workspace": "a", "mode": "x", ` + roots + `}`):                                  "line 3 of f: rule 2: mode is x; there are default, acceptEdits, manual, plan, dontAsk, bypassPermissions",
		file(`{"workspace": "a", "settings": "s.json", ` + roots + `}`):                         "line 3 of f: rule 2: settings is s.json; use an absolute path",
		file(`{"workspace": "a", "limits": {"calls": -1}, ` + roots + `}`):                      "line 3 of f: rule 2: a limit is negative; leave it out for none",
		file(`{"workspace": "a", "limits": {"memoryMB": 64}, ` + roots + `}`):                   "line 3 of f: rule 2: memoryMB is 64; a workspace needs 128 or more",
		file("{\"workspace\": \"a\", \"limits\":\n{\"calls\": \"1\"}, " + roots + `}`):          "line 4 of f: rule 2: limits.calls is a string; see the table of properties in docs/workspaces.md",
	} {
		_, err := ParseRules("f", []byte(text))
		if got := errText(err); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestFind finds the workspaces of principals.
func TestFind(t *testing.T) {
	r, err := ParseRules("f", []byte(`{"version": 1, "base": "/w", "rules": [
		{"when": {"name": "carl"}, "workspace": "shared", "roots": ["{base}/{workspace}/a"]},
		{"when": {"id": "https://i/eng:carl"}, "workspace": "one", "roots": ["{base}/{workspace}/a"]},
		{"when": {"issuer": "https://i/eng", "group": "dev"}, "workspace": "dev-{principal}", "roots": ["{base}/{workspace}/a"]},
		{"when": {"name": "anna"}, "workspace": "{principal}", "roots": ["{base}/{workspace}/a", "{base}/{workspace}/b"], "mode": "plan"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	eng := identity.Principal{ID: "https://i/eng:1", Issuer: "https://i/eng", Groups: []string{"x", "dev"}}
	hash := hashed(eng.ID)
	for _, c := range []struct {
		by   identity.Principal
		want string
	}{
		{identity.Principal{ID: "token:carl", Name: "carl"}, "shared"},
		{identity.Principal{ID: "token:anna", Name: "anna"}, "anna"},
		{identity.Principal{ID: "https://i/x:5", Name: "anna", Issuer: "https://i/x"}, ""}, // a name that its owner chose
		{identity.Principal{ID: "https://i/eng:carl", Issuer: "https://i/eng"}, "one"},
		{eng, "dev-" + hash},
		{identity.Principal{ID: "https://i/eng:2", Issuer: "https://i/eng", Groups: []string{"Dev"}}, ""},
		{identity.Principal{ID: "https://i:2", Issuer: "https://i", Groups: []string{"dev"}}, ""},
		{identity.Principal{ID: "https://i/eng/x:2", Issuer: "https://i/eng/x", Groups: []string{"dev"}}, ""},
		{identity.Principal{ID: "token:bob", Name: "bob"}, ""},
		{identity.Principal{ID: "http"}, ""},
	} {
		s, ok := r.Find(c.by)
		if got := map[bool]string{true: "", false: c.want}[!ok]; ok && s.Name != c.want || !ok && c.want != "" {
			t.Errorf("%+v: %v %v %s", c.by, s, ok, got)
		}
	}
	s, _ := r.Find(identity.Principal{ID: "token:anna"})
	if got := strings.Join(append(s.Roots, s.Home, s.State, s.Mode), " "); got != "/w/anna/a /w/anna/b /w/anna/home /w/anna/state plan" || len(hash) != 26 {
		t.Error(got, hash)
	}
	for _, id := range []string{"token:../q", "token:", "token:A", "https://i:../../q", "q"} {
		if got := nameOf(identity.Principal{ID: id, Name: "../q"}); got != hashed(id) {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// TestCheckBase refuses folders in which users could see each other.
func TestCheckBase(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, tools := at("good", 0o700), at("tools/bin", 0o700)
	if err := os.Symlink(good, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for base, want := range map[string]string{
		good:                       "",
		at("tools/w", 0o700):       "PATH",
		at("wide", 0o777):          "other users can write",
		filepath.Join(dir, "link"): "not a folder",
		filepath.Join(dir, "file"): "not a folder",
		filepath.Join(dir, "none"): "mkdir -m 700",
		at("homes", 0o700):         "your home folder",
		"/usr":                     "may read as a whole",
		"/etc":                     "may read as a whole",
	} {
		got := errText(CheckBase(base, filepath.Join(dir, "homes/op"), []string{tools, "relative", "/nowhere"}))
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}

// TestPrepare makes the folders of a workspace, and follows no links.
func TestPrepare(t *testing.T) {
	own, err := owner("")
	if err != nil {
		t.Skip(err)
	}
	base := t.TempDir()
	r, err := ParseRules("f", []byte(`{"version": 1, "base": "/w", "rules": [{"workspace": "{principal}", "roots": ["{base}/{workspace}/a/b"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Base = base
	by := identity.Principal{ID: "token:anna", Name: "anna", By: identity.Hash{1}}
	s, _ := r.Find(by)
	for range 2 {
		if err := s.prepare(base, by, own); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range append([]string{s.Folder, s.Home, s.State, s.Temp, s.Folder + "/a"}, s.Roots...) {
		if info, err := os.Lstat(dir); err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v %v", dir, info, err)
		}
	}
	if rec, err := readRecord(base, "anna"); err != nil || rec.Principal.ID != by.ID || rec.Principal.By != (identity.Hash{}) {
		t.Errorf("%+v %v", rec, err)
	}
	other := *s
	other.template = "anna"
	if err := other.prepare(base, by, own); err == nil || !strings.Contains(err.Error(), "two rules") {
		t.Errorf("another rule: %v", err)
	}
	outside := t.TempDir()
	for _, name := range []string{"state", "a"} {
		if err := os.RemoveAll(filepath.Join(s.Folder, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(s.Folder, name)); err != nil {
			t.Fatal(err)
		}
		if err := s.prepare(base, by, own); err == nil || !strings.Contains(err.Error(), "not a folder") {
			t.Errorf("a link at %s: %v", name, err)
		}
		if err := os.Remove(filepath.Join(s.Folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if list, _ := os.ReadDir(outside); len(list) > 0 {
		t.Errorf("made outside: %v", list)
	}
}
