package trigger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/session"
)

// at returns a session of a principal with a first root.
func at(id, principal, root string) session.View {
	return session.View{ID: id, Principal: principal, Roots: []string{root}}
}

func (r *Registry) keep(t *testing.T, v session.View, name string) (secret string) {
	t.Helper()
	made, err := r.Create(t.Context(), v, name, true)
	if err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

// want checks the names of the triggers that a session lists, durable ones with a "!".
func (r *Registry) want(t *testing.T, v session.View, want string) {
	t.Helper()
	list, err := r.List(v)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range list {
		if names = append(names, d.Name); d.Durable {
			names[len(names)-1] += "!"
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s lists %q, want %q", v.ID, got, want)
	}
}

const noSession = "503 there is no session for the events of this trigger now; try again later [60]"

// TestRestart checks a durable trigger after the end of its session and of its server.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := t.TempDir()
		a, b, c := at("a", "p", "/src"), at("b", "p", "/src"), at("c", "p", "/src")
		elsewhere, stranger := at("d", "p", "/other"), at("e", "q", "/src")
		first := servedFrom(state)
		secret := first.keep(t, a, "ci")
		first.make(t, a, "mem")
		time.Sleep(time.Second)
		first.Use(b) // the session that made it comes first all the same
		send := func(r *Registry, want string, to ...session.View) {
			t.Helper()
			time.Sleep(2 * time.Second) // the rate
			if got := r.post(t, "ci", "hi", false, signed(secret, "hi")); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			for _, v := range []session.View{a, b, c, elsewhere, stranger} {
				want := ""
				if len(to) > 0 && to[0].ID == v.ID {
					want = "trigger ci true: hi"
				}
				if got := texts(r, v); got != want {
					t.Errorf("%s has the events %q, want %q", v.ID, got, want)
				}
			}
		}
		send(first, "202 accepted", a)
		if got := first.post(t, "ci", "hi", false, signed("x", "hi")); got != "401" {
			t.Error(got)
		}
		first.Use(elsewhere)
		first.Use(stranger)
		first.want(t, a, "ci! mem")
		first.want(t, b, "ci!")
		first.want(t, elsewhere, "")
		first.want(t, stranger, "")
		first.Forget(a.Owner())
		send(first, "202 accepted", b)
		time.Sleep(time.Second)
		first.Use(c)
		send(first, "202 accepted", c)
		time.Sleep(time.Second)
		first.Use(b)
		send(first, "202 accepted", b)
		first.Forget(b.Owner())
		first.Forget(c.Owner())
		send(first, noSession)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}

		second := servedFrom(state)
		send(second, noSession)
		for range maxRate { // rejected requests do not count
			second.post(t, "ci", "hi", true)
		}
		second.Use(elsewhere)
		send(second, noSession)
		second.Use(b)
		second.want(t, b, "ci!")
		send(second, "202 accepted", b)
		time.Sleep(maxIdle)
		send(second, noSession)
		second.Use(c)
		send(second, "202 accepted", c)
		if _, err := second.Delete(t.Context(), stranger, "ci"); err == nil || err.Error() != "this session has no trigger ci, and no other. Make one with action create." {
			t.Error(err)
		}
		if closed, err := second.Delete(t.Context(), b, "ci"); closed || err != nil {
			t.Error(closed, err)
		}
		send(second, "401")
		second.want(t, c, "")
	})
}

// TestTwoServers checks two servers with one state folder at one time.
func TestTwoServers(t *testing.T) {
	state, a, b := t.TempDir(), at("a", "p", "/src"), at("b", "p", "/src")
	one, two := servedFrom(state), servedFrom(state)
	mem := two.make(t, b, "ci")
	secret := one.keep(t, a, "ci") // the other server has a trigger of that name in memory
	two.Use(b)
	for _, c := range []struct {
		r    *Registry
		key  string
		v    session.View
		want string
	}{{one, secret, a, "202 accepted"}, {two, secret, b, "202 accepted"}, {two, mem, b, "202 accepted"}, {one, mem, a, "401"}} {
		got := c.r.post(t, "ci", "hi", false, signed(c.key, "hi"))
		if event := texts(c.r, c.v); got != c.want || (event != "") != (got == "202 accepted") {
			t.Errorf("%s with the event %q, want %s", got, event, c.want)
		}
	}
	for _, durable := range []bool{false, true} {
		if _, err := two.Create(t.Context(), at("x", "q", "/src"), "ci", durable); err == nil || !strings.HasPrefix(err.Error(), "another session of this server has a trigger ci") {
			t.Error(err)
		}
		if _, err := one.Create(t.Context(), at("x", "q", "/src"), "ci", durable); err == nil || err.Error() != "there is a durable trigger ci of another token or first folder. Choose another name." {
			t.Error(err)
		}
		if _, err := one.Create(t.Context(), b, "ci", durable); err == nil || err.Error() != "there is a trigger ci already. Choose another name, or delete it first." {
			t.Error(err)
		}
	}
	two.Forget(b.Owner())
	two.want(t, b, "ci!")
	if _, err := two.Delete(t.Context(), b, "ci"); err != nil {
		t.Error(err)
	}
	if got := one.post(t, "ci", "hi", false, signed(secret, "hi")); got != "401" {
		t.Errorf("after the other server deleted it, a trigger answers %s", got)
	}
	fresh := one.keep(t, a, "ci")
	if two.Use(b); fresh == secret || two.post(t, "ci", "hi", false, signed(secret, "hi")) != "401" || two.post(t, "ci", "hi", false, signed(fresh, "hi")) != "202 accepted" {
		t.Error("a new trigger of an old name has its secret")
	}
	// Of all that create a name at once, on either server, one has it.
	var all sync.WaitGroup
	made := make(chan bool, 40)
	for i := range cap(made) {
		all.Go(func() {
			_, err := []*Registry{one, two}[i%2].Create(t.Context(), a, fmt.Sprint("n", i/8), true)
			made <- err == nil
		})
	}
	all.Wait()
	close(made)
	n := 0
	for ok := range made {
		if ok {
			n++
		}
	}
	if n != cap(made)/8 {
		t.Errorf("%d names were given", n)
	}
	two.want(t, a, "ci! n0! n1! n2! n3! n4!")
}

// TestDamaged checks that a file that cannot be used is refused, left as it is, and does not
// stop triggers in memory.
func TestDamaged(t *testing.T) {
	const head = `{"version":1,"triggers":`
	const one = `{"name":"ci","secret":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","principal":"p","root":"/src","created":"2000-01-01T00:00:00Z"}`
	for data, want := range map[string]string{
		``:                                       "it is damaged: unexpected end of JSON input",
		head + `[` + one:                         "it is damaged: unexpected end of JSON input",
		`{}`:                                     "its version is 0, and this server knows 1",
		`{"version":2,"more":1}`:                 "its version is 2, and this server knows 1",
		head + `[],"more":1}`:                    `it is damaged: json: unknown field "more"`,
		head + `[` + one + `,` + one + `]}`:      "it is damaged: the name ci is repeated or not valid",
		head + `[{"name":"a/b"}]}`:               "it is damaged: the name \"a/b\" is repeated or not valid",
		head + `[{"name":"ci","secret":"x"}]}`:   "it is damaged: the trigger ci is not complete",
		strings.Replace(one, `"name"`, `"n"`, 1): "its version is 0, and this server knows 1",
	} {
		r, a := served(t), at("a", "p", "/src")
		secret := r.make(t, a, "mem")
		path := r.file.Path
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		want := "the durable triggers were not used: reading " + path + ": " + want + ". Ask the user to repair or remove that file, or to update this server."
		_, listErr := r.List(a)
		_, createErr := r.Create(t.Context(), a, "x", false)
		_, durableErr := r.Create(t.Context(), a, "x", true)
		_, deleteErr := r.Delete(t.Context(), a, "ci")
		for _, err := range []error{listErr, createErr, durableErr, deleteErr} {
			if err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if got := r.post(t, "mem", "x", false, signed(secret, "x")); got != "202 accepted" {
			t.Error(got)
		}
		for _, name := range []string{"ci", "mem"} { // in the same way
			if got := r.post(t, name, "x", false, signed("x", "x")); got != "503 the durable triggers of this server cannot be read; try again later [60]" {
				t.Error(got)
			}
		}
		if _, err := r.Delete(t.Context(), a, "mem"); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != data {
			t.Errorf("%s has become %s (%v)", data, got, err)
		}
	}
}

// TestKilled checks each state in which a server that is killed can leave the folder.
func TestKilled(t *testing.T) {
	state, a := t.TempDir(), at("a", "p", "/src")
	first := servedFrom(state)
	secret := first.keep(t, a, "ci")
	path := first.file.Path
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || filepath.Separator == '/' && info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for n := range len(data) + 1 { // the part of the new file that was written
		if err := os.WriteFile(path+".new", data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		r := servedFrom(state)
		r.Use(a)
		if got := r.post(t, "ci", "x", false, signed(secret, "x")); got != "202 accepted" {
			t.Fatalf("with %d bytes of the new file: %s", n, got)
		}
	}
	r := servedFrom(state)
	r.keep(t, a, "second")
	r.want(t, a, "ci! second!")
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := r.post(t, "ci", "x", false, signed(secret, "x")); got != "401" {
		t.Errorf("without the file: %s", got)
	}
	r.want(t, a, "")
	// A folder that is not empty, in the place of the new file, stops root too.
	if err := os.MkdirAll(filepath.Join(path+".new", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Create(t.Context(), a, "x", true); err == nil || !strings.HasPrefix(err.Error(), "storing the durable triggers failed: ") ||
		!strings.HasSuffix(err.Error(), ". See with the action list whether the change was made, and ask the user to look at "+path+".") {
		t.Error(err)
	}
	r.want(t, a, "")
}

// TestDurableLimits checks the limits, and that a stdio server has no part in the file.
func TestDurableLimits(t *testing.T) {
	state := t.TempDir()
	r := servedFrom(state)
	for i := range maxDurable {
		r.keep(t, at("a", "p", fmt.Sprint("/", i/maxOwn)), fmt.Sprint("t", i))
	}
	_, err := r.Create(t.Context(), at("a", "p", "/x"), "x", true)
	if err == nil || err.Error() != "the state folder has 200 durable triggers, and no more may. Set durable to false." {
		t.Error(err)
	}
	_, err = r.Create(t.Context(), at("b", "p", "/0"), "x", false)
	if err == nil || err.Error() != "this session has 20 triggers, and no more may. Delete one that is not needed." {
		t.Error(err)
	}
	stdio := New(state, r.file.Locks, event.New())
	defer stdio.Close()
	_, err = stdio.Create(t.Context(), at("a", "p", "/0"), "x", true)
	if err == nil || err.Error() != "durable is true, and over stdio the port of a trigger ends with the server. Set durable to false." {
		t.Error(err)
	}
	stdio.want(t, at("a", "p", "/0"), "")
	if got := stdio.post(t, "t0", "x", true); got != "404 there is no trigger t0" {
		t.Error(got)
	}
}
