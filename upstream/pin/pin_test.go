package pin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/file/filelock"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func open(stateFolder string) *Store {
	return New(filepath.Join(stateFolder, "upstream"), filelock.New(filepath.Join(stateFolder, "locks")), func() time.Time { return noon })
}

func newStore(t *testing.T) *Store {
	t.Helper()
	return open(filepath.Join(t.TempDir(), "state"))
}

// list returns a listing of tools, given by name or as JSON.
func list(tools ...string) []json.RawMessage {
	out := []json.RawMessage{}
	for _, tool := range tools {
		if !strings.HasPrefix(tool, "{") {
			tool = `{"name":"` + tool + `","description":"d","inputSchema":{"type":"object"}}`
		}
		out = append(out, json.RawMessage(tool))
	}
	return out
}

// update updates the server "a" with config "c".
func update(t *testing.T, s *Store, tools ...string) map[string]string {
	t.Helper()
	changed, err := s.Update("a", "c", list(tools...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(changed, s.Changed("a", "c")); diff != "" {
		t.Errorf("Update and Changed differ:\n%s", diff)
	}
	return changed
}

func accept(t *testing.T, s *Store) []Change {
	t.Helper()
	shown, err := s.Diff("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Accept("a", shown); err != nil {
		t.Fatal(err)
	}
	return shown
}

// TestLife follows one server from its first listing.
func TestLife(t *testing.T) {
	s := newStore(t)
	if got, ok := s.Cached("a", "c"); ok || s.Changed("a", "c") != nil {
		t.Errorf("something is known from the start: %s", got)
	}
	if names, err := s.Servers(); names != nil || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	for _, err := range []error{s.Forget("a"), s.Accept("a", nil)} {
		if !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	}
	if _, err := s.Diff("a"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(s.folder)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("looking made the state folder")
	}

	if got := update(t, s, "x", "y"); got != nil {
		t.Errorf("the first listing: %v", got)
	}
	raw := `{ "name":"y", "_meta":{"t":1}, "inputSchema":{"type":"object","b":1.0}, "description":"new" }`
	want := map[string]string{"y": "its description and input schema changed since the user last looked", "z": "it is new since the user last looked"}
	if diff := cmp.Diff(want, update(t, s, raw, "z")); diff != "" {
		t.Error(diff)
	}
	if got, ok := s.Cached("a", "c"); !ok || string(got[0]) != `{"name":"y","_meta":{"t":1},"inputSchema":{"type":"object","b":1.0},"description":"new"}` || len(got) != 2 {
		t.Errorf("the listing is %s, %v", got, ok)
	}
	if _, ok := s.Cached("a", "another"); ok || s.Changed("a", "another") != nil {
		t.Error("the listing of something else is shown")
	}
	if diff := cmp.Diff(want, update(t, s, raw, "z")); diff != "" {
		t.Errorf("listing it again took the change away:\n%s", diff)
	}
	shown, _ := s.Diff("a")
	var words []string
	for _, c := range shown {
		words = append(words, c.Tool+": "+c.Phrase())
	}
	if diff := cmp.Diff([]string{"y: " + want["y"], "z: " + want["z"], "x: it is gone since the user last looked"}, words); diff != "" {
		t.Error(diff)
	}

	// A removed tool that comes back unchanged still counts as seen.
	if got := update(t, s, "x", "y"); got != nil {
		t.Errorf("as at first: %v", got)
	}
	update(t, s, raw, "z")
	accept(t, s)
	if got, _ := s.Diff("a"); got != nil || s.Changed("a", "c") != nil {
		t.Errorf("accepted, and still %v", got)
	}
	if got := update(t, s, "x"); len(got) != 1 || got["x"] != "it is new since the user last looked" {
		t.Errorf("what was seen to be gone is back: %v", got)
	}
	// The user has changed the config, so the first listing counts as seen.
	if got, err := s.Update("a", "another", list("x")); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if when, err := s.Reviewed("a"); err != nil || !when.Equal(noon) {
		t.Error(when, err)
	}
	if err := s.Forget("a"); err != nil {
		t.Error(err)
	}
	if _, ok := s.Cached("a", "another"); ok {
		t.Error("it is still known")
	}
}

// TestGoneAndChanged checks that a tool that is removed and comes back changed
// is reported.
func TestGoneAndChanged(t *testing.T) {
	s := newStore(t)
	update(t, s, "x", "y")
	update(t, s, "y")
	got := update(t, s, `{"name":"x","description":"evil","inputSchema":{"type":"object"}}`, "y")
	if diff := cmp.Diff(map[string]string{"x": "its description changed since the user last looked"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAcceptsWhatWasShown checks that Accept does not accept later changes.
func TestAcceptsWhatWasShown(t *testing.T) {
	s := newStore(t)
	update(t, s, "x")
	update(t, s, "x", "y")
	shown, err := s.Diff("a")
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, "x", `{"name":"y","description":"evil"}`, "z")
	if err := s.Accept("a", shown); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"y": "its description and input schema changed since the user last looked", "z": "it is new since the user last looked"}
	if diff := cmp.Diff(want, s.Changed("a", "c")); diff != "" {
		t.Error(diff)
	}
}

func TestPhrases(t *testing.T) {
	for is, want := range map[string]string{
		`{"name":"x","title":"t","description":"d","inputSchema":{"a":1,"b":2}}`:                                   "its title changed",
		`{"name":"x","description":"d","inputSchema":{"b":2,"a":1.0},"annotations":{}}`:                            "its input schema and annotations changed",
		`{"name":"x","title":"","description":"e","inputSchema":{},"outputSchema":{},"annotations":null,"Name":1}`: "its name, title, description, input schema, output schema and annotations changed",
		`{"name":"x","description":"d","Description":"d","inputSchema":{"a":1,"b":2}}`:                             "its description changed",
		`{"name":"x","description":"d","description":"d","inputSchema":{"a":1,"b":2}}`:                             "its description changed",
		` {"inputSchema":{"b":2,"a":1},"icons":[1],"_meta":{}, "description":"\u0064", "name":"x"}`:                "",
	} {
		s := newStore(t)
		update(t, s, `{"name":"x","description":"d","inputSchema":{"a":1,"b":2}}`)
		if want != "" {
			want += " since the user last looked"
		}
		var got string
		for _, phrase := range update(t, s, is) {
			got = phrase
		}
		if strings.Contains(is, `"Name":1`) {
			got = (Change{Was: json.RawMessage(`{"description":"d","inputSchema":{},"name":"x"}`), Is: mustDefine(t, is)}).Phrase()
			want = strings.Replace(want, "input schema, ", "", 1)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", is, got, want)
		}
	}
}

func mustDefine(t *testing.T, raw string) json.RawMessage {
	t.Helper()
	form, err := definition(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// TestOddListings checks that invalid tools are ignored, and that a duplicate
// name cannot hide a changed definition.
func TestOddListings(t *testing.T) {
	s := newStore(t)
	changed, err := s.Update("a", "c", []json.RawMessage{json.RawMessage(`{`), nil, json.RawMessage(`[1]`), json.RawMessage(`{"name":1}`), json.RawMessage(` {} `), list("x")[0]})
	if changed != nil || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if got, _ := s.Cached("a", "c"); len(got) != 4 {
		t.Errorf("%s", got)
	}
	if got := update(t, s, `{"name":"x","description":"evil"}`, "x"); len(got) != 1 {
		t.Errorf("hidden behind one of the same name: %v", got)
	}
	if changed, err := s.Update("a", "c", nil); changed != nil || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if got, ok := s.Cached("a", "c"); !ok || len(got) != 0 {
		t.Errorf("%s, %v", got, ok)
	}
}

// TestBytes checks that a definition is stored byte for byte.
func TestBytes(t *testing.T) {
	s := newStore(t)
	odd := `{"name":"x","description":"<a href='b'>&amp;\u003c\ud800 ` + "\u2028\xff\u202e" + `","inputSchema":{"n":[1.0,1e400,-0]}}`
	for range 2 {
		if got := update(t, s, odd); got != nil {
			t.Errorf("%v", got)
		}
	}
	if got, _ := s.Cached("a", "c"); len(got) != 1 || string(got[0]) != odd {
		t.Errorf("%q", got)
	}
	if shown, err := s.Diff("a"); shown != nil || err != nil {
		t.Errorf("%v, %v", shown, err)
	}
}

// TestNames checks that no server name leads out of the folder, to the file of
// another server, or to a file that cannot be created.
func TestNames(t *testing.T) {
	s := newStore(t)
	names := []string{"a", "A", "a_", "a.", "", ".", "..", "../../x", "/etc/passwd", `C:\x`, "NUL", "a\x00b", "é", "e\u0301", "\xff", "\xfe", strings.Repeat("x", 5000), "a b", "name.json", "-"}
	for i, name := range names {
		if _, err := s.Update(name, "c", list(fmt.Sprint("t", i))); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	files := map[string]bool{}
	for i, name := range names {
		got, ok := s.Cached(name, "c")
		if strings.ToValidUTF8(name, "") != name {
			continue // cannot be a key of the settings; tested below
		}
		if !ok || !strings.Contains(string(got[0]), fmt.Sprintf(`"t%d"`, i)) {
			t.Errorf("%q: %s", name, got)
		}
		path := s.path(name)
		if filepath.Dir(path) != s.folder || len(filepath.Base(path)) > 100 || files[strings.ToLower(path)] {
			t.Errorf("%q has the file %s", name, path)
		}
		files[strings.ToLower(path)] = true
		if info, err := os.Lstat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(s.folder)); err != nil || len(entries) != 2 {
		t.Errorf("beside upstream and locks there are %v, %v", entries, err)
	}
	got, _ := s.Servers()
	want := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.ToValidUTF8(n, "") != n })
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Lstat(s.folder); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestUnderOneName checks that other configs, listings and damage under the
// same name make no tool count as seen.
func TestUnderOneName(t *testing.T) {
	s := newStore(t)
	is := func(config string, want bool, l []json.RawMessage) {
		t.Helper()
		if got := s.Seen("a", config, l[0]); got != want {
			t.Errorf("%s: seen %v, want %v", l[0], got, want)
		}
	}
	good, evil := list(`{"name":"x","description":"good"}`), list(`{"name":"x","description":"evil"}`)
	for _, step := range []struct {
		config string
		list   []json.RawMessage
	}{{"c", good}, {"c", evil}, {"another", evil}, {"third", good}, {"another", evil}} {
		if _, err := s.Update("a", step.config, step.list); err != nil {
			t.Fatal(err)
		}
		is("c", true, good)
		is("c", false, evil)
	}
	is("another", true, evil)
	if got, err := s.Update("a", "c", evil); len(got) != 1 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := s.Update("a", "c", good); err != nil { // another process lists the good tool
		t.Fatal(err)
	}
	is("c", false, evil)
	accept(t, s)
	for i := range 3 * maxOthers {
		if _, err := s.Update("a", fmt.Sprint(i), good); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.read("a"); err != nil || len(r.Others) != maxOthers {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(s.path("a"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	is(fmt.Sprint(3*maxOthers-1), false, good)
}
