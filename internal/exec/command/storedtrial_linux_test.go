package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/testscale"
)

// twins returns a function that makes Commands under the same circumstances each time,
// except for edit.
func twins(t *testing.T) (another func(edit func(*Config)) *Commands, file string) {
	t.Helper()
	var first Config
	untriedCommands(t, func(c *Config) { first = *c })
	if err := os.Mkdir(first.State, 0o755); err != nil {
		t.Fatal(err)
	}
	return func(edit func(*Config)) *Commands {
		c, _ := untriedCommands(t, func(c *Config) {
			*c = first
			if edit != nil {
				edit(c)
			}
		})
		return c
	}, filepath.Join(first.State, "containment.json")
}

// answer reports whether read-only commands are available.
func answer(t *testing.T, another func(func(*Config)) *Commands) bool {
	t.Helper()
	c := another(nil)
	return c.ReadOnly(t.Context()) == nil
}

func TestKnown(t *testing.T) {
	another, file := twins(t)
	want := answer(t, another)
	if err := os.Remove(file); err != nil { // fails unless the trial was stored, whatever its result
		t.Fatal(err)
	}
	first := another(nil)
	if got := first.StoredReadOnly(t.Context()) == nil; got != want || !tried(first) {
		t.Errorf("%v, want %v; tried %v", got, want, tried(first))
	}
	info, err := os.Lstat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if got := first.StoredReadOnly(t.Context()) == nil; got != want {
		t.Error("the second answer differs")
	}
	again := another(nil)
	if got := again.StoredReadOnly(t.Context()) == nil; got != want || tried(again) {
		t.Errorf("%v, want %v; tried %v", got, want, tried(again))
	}
	other := another(func(c *Config) { c.Network = Deny })
	if got := other.StoredReadOnly(t.Context()) == nil; got != want || !tried(other) {
		t.Errorf("under other settings %v, want %v; tried %v", got, want, tried(other))
	}
	// The new trial has replaced the first.
	if c := another(nil); c.StoredReadOnly(t.Context()) == nil != want || !tried(c) {
		t.Error("an answer under other settings was used")
	}
}

// TestCircumstances checks that the key depends on every circumstance.
func TestCircumstances(t *testing.T) {
	another, _ := twins(t)
	same := another(nil).circumstances()
	if another(nil).circumstances() != same {
		t.Fatal("the key is not the same twice")
	}
	for name, edit := range map[string]func(*Config){
		"mode":       func(c *Config) { c.Sandbox = On },
		"roots":      func(c *Config) { c.Roots = append([]string{t.TempDir()}, c.Roots...) },
		"closed":     func(c *Config) { c.Closed = []string{"/x"} },
		"home":       func(c *Config) { c.Home = "/x" },
		"state":      func(c *Config) { c.State = filepath.Join(t.TempDir(), "x") },
		"allowWrite": func(c *Config) { c.AllowWrite = []string{"/x"} },
		"network":    func(c *Config) { c.Network = Deny },
		"path":       func(c *Config) { c.Environ = append(c.Environ, "PATH=/x:/usr/bin") },
	} {
		if another(edit).circumstances() == same {
			t.Errorf("the key is the same with another %s", name)
		}
	}
	c := another(nil)
	c.program = program(t, filepath.Join(t.TempDir(), "program"))
	key := c.circumstances()
	if key == same {
		t.Error("the key is the same with another program")
	}
	if err := os.WriteFile(c.program, []byte("longer"), 0o755); err != nil {
		t.Fatal(err)
	}
	if c.circumstances() == key {
		t.Error("the key is the same with a changed program")
	}
	t.Setenv("TMPDIR", t.TempDir())
	if another(nil).circumstances() == same {
		t.Error("the key is the same with another folder for temporary files")
	}
}

func TestKnownDamaged(t *testing.T) {
	another, file := twins(t)
	want := answer(t, another)
	ended := func(c *Commands) { c.Report(t.Context()) } // the rest of a trial continues in the background
	first := another(nil)
	if err := first.StoredReadOnly(t.Context()); (err == nil) != want {
		t.Fatal(err)
	}
	ended(first)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var k storedTrial
	if err := json.Unmarshal(good, &k); err != nil || k.Key == "" {
		t.Fatalf("%s: %v", good, err)
	}
	for _, damage := range testscale.Sample([]struct{ name, text string }{
		{"empty", ""}, {"no JSON", "x"}, {"null", "null"}, {"other", `["a"]`}, {"two", string(good) + string(good)},
		{"long", string(good) + strings.Repeat(" ", maxStoredTrial)}, {"no key", `{"Broken":["write"]}`}, {"cut", string(good[:len(good)-2])},
		{"wrong type", `{"Key":"` + k.Key + `","Broken":3}`}, {"key", `{"Key":"x","Broken":["write"]}`},
	}, 4) {
		name, text := damage.name, damage.text
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := another(nil)
		if got := c.StoredReadOnly(t.Context()) == nil; got != want || !tried(c) {
			t.Errorf("%s: %v, want %v; tried %v", name, got, want, tried(c))
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != string(good) {
			t.Errorf("%s: the file was not put right: %s, %v", name, now, err)
		}
		ended(c)
	}
	// A folder in the file's place.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(file, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := another(nil)
	if c.StoredReadOnly(t.Context()) == nil != want || !tried(c) {
		t.Error("a folder was read")
	}
	ended(c)
	if left := entries(t, filepath.Dir(file)); len(left) != 1 {
		t.Errorf("there is left %q", left)
	}
}

// TestKnownAnswers checks that the answer comes from the file, but that the need to
// hide something is checked each time. How commands run must depend only on a new
// trial.
func TestKnownAnswers(t *testing.T) {
	another, file := twins(t)
	c := another(nil)
	say := func(promises ...string) {
		t.Helper()
		if err := writeTrial(file, storedTrial{c.circumstances(), promises}); err != nil {
			t.Fatal(err)
		}
	}
	say()
	if err := c.StoredReadOnly(t.Context()); err != nil {
		t.Error(err)
	}
	say("write")
	if err := c.StoredReadOnly(t.Context()); err == nil || !strings.Contains(err.Error(), "write") {
		t.Error(err)
	}
	say("hide")
	if err := c.StoredReadOnly(t.Context()); err != nil {
		t.Error(err)
	}
	if tried(c) {
		t.Error("it was tried")
	}
	secret := filepath.Join(c.config.Roots[0], "token")
	c = another(func(c *Config) { c.Closed = []string{secret} })
	say("hide")
	if err := c.StoredReadOnly(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.StoredReadOnly(t.Context()); err == nil || tried(c) {
		t.Errorf("%v; tried %v", err, tried(c))
	}
	say()
	withoutMounts(t, c)
	if err := c.StoredReadOnly(t.Context()); err != nil {
		t.Error(err)
	}
	if r, err := c.Start(t.Context(), Spec{Script: "true", Dir: c.config.Roots[0], ReadOnly: true}); err == nil {
		r.Result()
		t.Error("a command was started on the word of the file")
	}
}

func TestKnownUnwritable(t *testing.T) {
	another, _ := twins(t)
	want := answer(t, another)
	state := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := another(func(c *Config) { c.State = filepath.Join(state, "state") })
		if got := c.StoredReadOnly(t.Context()) == nil; got != want || !tried(c) {
			t.Errorf("%v, want %v; tried %v", got, want, tried(c))
		}
	}
}

func TestKnownAtOnce(t *testing.T) {
	another, file := twins(t)
	want := answer(t, another)
	var wg sync.WaitGroup
	for _, c := range []*Commands{another(nil), another(nil)} {
		for range 2 {
			wg.Go(func() {
				if got := c.StoredReadOnly(t.Context()) == nil; got != want {
					t.Errorf("%v, want %v", got, want)
				}
				c.Report(t.Context()) // waits for the rest of the trial
			})
		}
	}
	wg.Wait()
	if k, err := readTrial(file); err != nil || k.Key != another(nil).circumstances() {
		t.Errorf("%+v, %v", k, err)
	}
	if left := entries(t, filepath.Dir(file)); len(left) != 1 {
		t.Errorf("there is left %q", left)
	}
}

// TestKnownNothing checks that nothing is written or started before it is needed,
// and that a trial that failed is not stored.
func TestKnownNothing(t *testing.T) {
	for name, edit := range map[string]func(*Config){
		"off":       func(c *Config) { c.Sandbox = Off },
		"unbounded": func(c *Config) { c.Roots = append(c.Roots, "/") },
	} {
		another, file := twins(t)
		c := another(edit)
		if c.StoredReadOnly(t.Context()) == nil || tried(c) {
			t.Errorf("%s: tried %v", name, tried(c))
		}
		if left := entries(t, filepath.Dir(file)); len(left) > 0 {
			t.Errorf("%s: %q was written", name, left)
		}
		if name == "off" && c.report != nil && c.report.Tier != process.None {
			t.Error("a process was started")
		}
	}
}

// TestKnownNoState checks that the state folder is made for a stored trial by a server
// only.
func TestKnownNoState(t *testing.T) {
	c, _ := untriedCommands(t, nil)
	for range 2 {
		if got := c.StoredReadOnly(t.Context()) == nil; got != (c.ReadOnly(t.Context()) == nil) {
			t.Error("the answers differ")
		}
	}
	if exists(c.config.State) {
		t.Error("a state folder was made")
	}
	c, _ = untriedCommands(t, nil)
	c.Begin(true)
	want := c.Report(t.Context()).ReadOnly.Err == nil
	if _, err := readTrial(c.trialFile()); (err == nil) != want {
		t.Errorf("the trial was not stored: %v", err)
	}
}
