package worklist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/testscale"
	"mcp-toolset/session"
)

// newShared returns a store of the list "team" in a state folder, as a server of its own
// would have it.
func newShared(state string) *Shared {
	return NewShared(state, "team", filelock.New(filepath.Join(state, "locks")))
}

func add(t testing.TB, s Store, subject string) {
	t.Helper()
	if err := s.Update(t.Context(), func(l *List) error { _, err := l.Create(Draft{Subject: subject}); return err }); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, s Store) List {
	t.Helper()
	l, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestStores checks what holds for both kinds.
func TestStores(t *testing.T) {
	for name, s := range map[string]Store{"memory": new(Memory).Of(session.Owner{Session: "1"}), "shared": newShared(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			if got := show(read(t, s)); got != "" {
				t.Errorf("at first it has %s", got)
			}
			add(t, s, "a")
			before := read(t, s)
			add(t, s, "b")
			no := errors.New("no")
			if err := s.Update(t.Context(), func(l *List) error { l.Items[0].Subject, l.Last = "x", 9; return no }); err != no {
				t.Error(err)
			}
			if got := show(read(t, s)); got != "1p a, 2p b" || show(before) != "1p a" {
				t.Errorf("it has %s, and had %s", got, show(before))
			}
			if err := s.Update(t.Context(), func(l *List) error { _, err := l.Update(Change{ID: "2", Status: Deleted}, ""); return err }); err != nil {
				t.Fatal(err)
			}
			add(t, s, "c")
			if got := show(read(t, s)); got != "1p a, 3p c" {
				t.Errorf("it has %s", got)
			}
		})
	}
}

func TestMemoryOwners(t *testing.T) {
	var m Memory
	one, two := session.Owner{Principal: "p", Session: "1"}, session.Owner{Principal: "p", Session: "2"}
	add(t, m.Of(one), "a")
	add(t, m.Of(two), "b")
	if show(read(t, m.Of(one))) != "1p a" || show(read(t, m.Of(two))) != "1p b" {
		t.Error("lists of two owners are mixed")
	}
	m.Forget(one)
	if show(read(t, m.Of(one))) != "" || show(read(t, m.Of(two))) != "1p b" {
		t.Error("the wrong list is forgotten")
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "Team_1-x": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a/b": false, "..": false, "a.b": false, "é": false, "a\n": false,
		"con": runtime.GOOS != "windows",
	} {
		if ValidName(name) != want {
			t.Errorf("%q is valid: %v", name, !want)
		}
	}
}

func TestFile(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	s := newShared(state)
	if got := show(read(t, s)); got != "" {
		t.Errorf("it has %s", got)
	}
	if _, err := os.Stat(filepath.Dir(s.path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading makes a folder: %v", err)
	}
	if err := s.Update(t.Context(), func(l *List) error {
		it, err := l.Create(Draft{Subject: "a <&>", Description: "b", ActiveForm: "c", Metadata: object(`{"n": 12345678901234567890}`)})
		it.Owner, it.BlockedBy, it.Writer = "bob", nil, "w"
		l.Items[0] = it
		return err
	}); err != nil {
		t.Fatal(err)
	}
	add(t, s, "d")
	data, err := os.ReadFile(s.path)
	const want = `{"version":1,"last":2,"items":[{"id":1,"subject":"a <&>","description":"b","activeForm":"c","status":"pending","owner":"bob","metadata":{"n":12345678901234567890},"writer":"w"},{"id":2,"subject":"d","status":"pending"}]}` + "\n"
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	for path, mode := range map[string]os.FileMode{s.path: 0o600, filepath.Dir(s.path): 0o700} {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	// A change that changes nothing writes nothing.
	before, err := os.Stat(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(l *List) error { _, err := l.Update(Change{ID: "1", Status: Pending}, ""); return err }); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(s.path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was written again: %v", err)
	}
	other := NewShared(state, "other", s.locks)
	add(t, other, "x")
	if show(read(t, other)) != "1p x" || show(read(t, newShared(state))) != "1p@bob a <&>, 2p d" {
		t.Error("lists of two names are mixed")
	}
}

// TestDamaged checks that a file that cannot be used is refused and left as it is.
func TestDamaged(t *testing.T) {
	const head = `{"version":1,"last":2,"items":`
	state := filepath.Join(t.TempDir(), "state")
	s := newShared(state)
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		t.Fatal(err)
	}
	const repair = ". Ask the user to repair or remove that file."
	for data, want := range map[string]string{
		``:                           "it is damaged: EOF" + repair,
		head + `[{"id":1,"subject":`: "it is damaged: unexpected EOF" + repair,
		head + `[]}{}`:               "it is damaged: it goes on after its end" + repair,
		head + `[],"more":1}`:        `it is damaged: json: unknown field "more"` + repair,
		`{}`:                         "it is damaged: it has no version" + repair,
		`{"version":2,"other":true}`: "a newer version of mcp-toolset has written it. Ask the user to update this server, or to start it with another --task-list.",
		head + `[{"id":3,"subject":"a","status":"pending"}]}`:                                                                                     "it is damaged: the id 3 is repeated or out of range" + repair,
		head + `[{"id":1,"subject":"a","status":"pending"},{"id":1,"subject":"a","status":"pending"}]}`:                                           "it is damaged: the id 1 is repeated or out of range" + repair,
		head + `[{"id":1,"subject":"a","status":"deleted"}]}`:                                                                                     "it is damaged: item 1 has an unknown status" + repair,
		head + `[{"id":1,"subject":"a","status":"pending","blockedBy":[2]}]}`:                                                                     "it is damaged: item 1 is blocked by 2, which is not there" + repair,
		head + `[{"id":1,"subject":"a","status":"pending","blockedBy":[2]},{"id":2,"subject":"a","status":"pending","blockedBy":[1]}]}`:           "it is damaged: items block each other" + repair,
		head + `[{"id":1,"subject":"` + strings.Repeat("\x01", 3) + `","status":"pending"}]}`:                                                     `it is damaged: invalid character '\x01' in string literal` + repair,
		head + `[{"id":1,"subject":"a","status":"pending","blockedBy":[1]},{"id":2,"subject":"a","status":"pending"}]}`:                           "it is damaged: items block each other" + repair,
		head + `[{"id":1,"subject":"a","status":"pending"},{"id":2,"subject":"a","status":"pending","blockedBy":[1]}]}` + strings.Repeat(" ", 99): "",
	} {
		if err := os.WriteFile(s.path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, readErr := s.Read(t.Context())
		for what, err := range map[string]error{"reading": readErr, "changing": s.Update(t.Context(), func(l *List) error { return nil })} {
			if want == "" {
				if err != nil {
					t.Errorf("%s %s: %v", what, data, err)
				}
				continue
			}
			if full := "the task list team was not used: reading " + s.path + ": " + want; err == nil || err.Error() != full {
				t.Errorf("%s %s:\n%v, want\n%s", what, data, err, full)
			}
			if got, err := os.ReadFile(s.path); err != nil || string(got) != data {
				t.Errorf("%s changed %s to %s, %v", what, data, got, err)
			}
		}
	}
}

// TestLinks checks that the store follows no link.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege")
	}
	state, elsewhere := filepath.Join(t.TempDir(), "state"), t.TempDir()
	s := newShared(state)
	target := filepath.Join(elsewhere, "team.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(s.path), 0o700), os.WriteFile(target, []byte(`{"version":1,"last":0,"items":null}`), 0o600), os.Symlink(target, s.path)); err != nil {
		t.Fatal(err)
	}
	refused := func(want string) {
		t.Helper()
		want = "the task list team was not used: reading " + want + ". Ask the user to repair or remove that file."
		_, err := s.Read(t.Context())
		if err == nil || err.Error() != want {
			t.Error(err)
		}
		if err := s.Update(t.Context(), func(l *List) error { _, err := l.Create(Draft{Subject: "a"}); return err }); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
	refused(s.path + ": it is not a file")
	if err := errors.Join(os.RemoveAll(filepath.Dir(s.path)), os.Symlink(elsewhere, filepath.Dir(s.path))); err != nil {
		t.Fatal(err)
	}
	refused(filepath.Dir(s.path) + ": it is not a folder")
}

// TestCannotBeStored checks the error of a change that cannot be written, and that the list
// stays as it was.
func TestCannotBeStored(t *testing.T) {
	s := newShared(filepath.Join(t.TempDir(), "state"))
	add(t, s, "a")
	// A folder that is not empty, in the place of the new file, stops root too.
	if err := os.MkdirAll(filepath.Join(s.path+".new", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(l *List) error { _, err := l.Create(Draft{Subject: "b"}); return err })
	if err == nil || !strings.HasPrefix(err.Error(), "storing the task list team failed: ") ||
		!strings.HasSuffix(err.Error(), ". See with TaskList whether the change was made, and ask the user to look at "+s.path+".") {
		t.Error(err)
	}
	if got := show(read(t, s)); got != "1p a" {
		t.Errorf("it has %s", got)
	}
}

func TestCancelled(t *testing.T) {
	s := newShared(filepath.Join(t.TempDir(), "state"))
	add(t, s, "a")
	release, err := s.locks.Lock(t.Context(), s.lock)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the client has gone")
	cancel(why)
	if _, err := s.Read(ctx); err != why {
		t.Error(err)
	}
	release()
	if err := s.Update(ctx, func(*List) error { t.Error("it is changed"); return nil }); err != why {
		t.Error(err)
	}
}

// TestClaims lets clients of two servers claim the items of one list, all at once. Each
// item gets exactly one owner, and whoever is refused is told who that is.
func TestClaims(t *testing.T) {
	const clients = 50
	items := testscale.N(100, 1000)
	tries := 4 * items / clients // so that four clients try each item
	state := filepath.Join(t.TempDir(), "state")
	servers := []*Shared{newShared(state), newShared(state)}
	if err := servers[0].Update(t.Context(), func(l *List) error {
		*l = listOf(t, slices.Repeat([]string{"a"}, items)...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	won := make([][]int, clients) // ids by client
	refused := make([]map[int]string, clients)
	var all sync.WaitGroup
	for c := range clients {
		refused[c] = map[int]string{}
		all.Go(func() {
			name, s := fmt.Sprintf("client-%d", c), servers[c%2]
			for i := range tries {
				// Each begins elsewhere, so that all win some.
				id := 1 + (i+c*items/clients)%items
				err := s.Update(t.Context(), func(l *List) error {
					_, err := l.Update(Change{ID: fmt.Sprint(id), Status: InProgress}, name)
					return err
				})
				if err == nil {
					won[c] = append(won[c], id)
				} else {
					refused[c][id] = err.Error()
				}
			}
		})
	}
	all.Wait()
	owner := map[int]string{}
	for c, ids := range won {
		for _, id := range ids {
			if had := owner[id]; had != "" {
				t.Errorf("%s and client-%d both have %d", had, c, id)
			}
			owner[id] = fmt.Sprintf("client-%d", c)
		}
	}
	l := read(t, servers[1])
	for _, it := range l.Items {
		if it.Owner == "" || it.Owner != owner[it.ID] || it.Status != InProgress {
			t.Errorf("%d belongs to %q, %s; %q won it", it.ID, it.Owner, it.Status, owner[it.ID])
		}
	}
	for c := range clients {
		if len(won[c])+len(refused[c]) != tries {
			t.Errorf("client-%d has %d answers", c, len(won[c])+len(refused[c]))
		}
		for id, text := range refused[c] {
			if !strings.HasPrefix(text, fmt.Sprintf("task %d is in progress by %s. ", id, owner[id])) {
				t.Errorf("client-%d is told of %d: %s", c, id, text)
			}
		}
	}
}
