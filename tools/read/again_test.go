package read

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/session"
	"mcp-toolset/tools/toolstest"
)

const (
	told     = "[$ROOT/f has not changed since it was last read here. If you no longer have it, send the same call again: that returns the content.]"
	toldPart = "[$ROOT/f has not changed since this part of it was last read here. If you no longer have it, send the same call again: that returns the content.]"
)

// conversation reads one file repeatedly.
type conversation struct {
	*testing.T
	w *toolstest.Workspace
	o Options
}

func converse(t *testing.T, o Options) *conversation {
	c := &conversation{t, toolstest.NewWorkspace(t), o}
	c.write("one\ntwo\n")
	return c
}

func (c *conversation) write(data string) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.w.Root, "f"), []byte(data), 0o600); err != nil {
		c.Fatal(err)
	}
}

// age sets the file's times back, so that any further change also changes them.
func (c *conversation) age() {
	c.Helper()
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(c.w.Root, "f"), long, long); err != nil {
		c.Fatal(err)
	}
}

// want checks the answer to a call.
func (c *conversation) want(args, want string) {
	c.Helper()
	resp, err := c.w.Call(c.Context(), New(c.o), `{"file_path":"f"`+args+`}`)
	if err != nil {
		c.Fatal(err)
	}
	if got := strings.ReplaceAll(toolstest.Text(resp), c.w.Root, "$ROOT"); got != want {
		c.Errorf("%q, want %q", got, want)
	}
}

const whole = "1\tone\n2\ttwo"

func TestReadAgain(t *testing.T) {
	c := converse(t, Options{})
	c.want("", whole)
	c.want("", told)
	c.want("", whole) // the model asked again, so it has it no more
	c.want("", whole) // nor has another one that shares the session
	c.want(`,"offset":1`, whole)
	c.want(`,"offset":2`, "2\ttwo\n[line 2 of 2]")
	c.want(`,"offset":2`, toldPart)
	c.want(`,"limit":2`, whole)
	c.want(`,"limit":2`, told)
	c.want("", whole)
}

func TestReadAgainAfterAChange(t *testing.T) {
	c := converse(t, Options{})
	c.want("", whole)
	c.write("one\nTWO\n") // the same size, and perhaps the same tick
	c.want("", "1\tone\n2\tTWO")
	c.want("", told)
	c.age()
	c.want("", "1\tone\n2\tTWO") // other times: it may have changed
	c.want("", told)
	path := filepath.Join(c.w.Root, "f")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c.write("one\ntwo\n")
	c.want("", whole)
}

func TestReadAgainLater(t *testing.T) {
	c := converse(t, Options{})
	now := time.Now()
	c.o.now = func() time.Time { return now }
	c.want("", whole)
	now = now.Add(session.RepeatedFor)
	c.want("", told)
	c.want("", whole)
	now = now.Add(session.RepeatedFor + time.Second)
	c.want("", whole)
	c.want("", told) // forgotten, and read anew
	c.want("", whole)
	now = now.Add(session.RepeatedFor + time.Second)
	c.want("", whole)
	c.want("", told)
}

// TestReadAgainAtTheSameTimes checks that changed content is shown although nothing else
// has changed.
func TestReadAgainAtTheSameTimes(t *testing.T) {
	c := converse(t, Options{})
	c.want("", whole)
	had, _ := c.w.Session.View().LastRead(filepath.Join(c.w.Root, "f"))
	had.Hash[0]++ // as if it had been read in the same tick, before a write
	c.w.Session.Apply(session.Effect{Reads: []session.Read{had}})
	c.want("", whole)
	c.want("", told)
}

// TestReadAfterOwnWrite checks that a write updates the read record, and that the next read
// shows the content.
func TestReadAfterOwnWrite(t *testing.T) {
	c := converse(t, Options{})
	c.want("", whole)
	had, ok := c.w.Session.View().LastRead(filepath.Join(c.w.Root, "f"))
	if !ok {
		t.Fatal("nothing is recorded")
	}
	had.Shown = false
	c.w.Session.Apply(session.Effect{Reads: []session.Read{had}})
	c.want("", whole)
	c.want("", told)
}

func TestReadAgainIsOff(t *testing.T) {
	c := converse(t, Options{Repeat: true})
	c.want("", whole)
	c.want("", whole)
	c.want("", whole)
}

func TestStatelessReadsInFull(t *testing.T) {
	c := converse(t, Options{})
	c.w.Session = session.New(session.Config{ID: "x", Roots: []string{c.w.Root}, Stateless: true})
	c.want("", whole)
	c.want("", whole)
}

// TestFailedReadsLeaveNoRecord checks that failed reads leave no read record and are not
// reported to the session's listeners.
func TestFailedReadsLeaveNoRecord(t *testing.T) {
	c := converse(t, Options{})
	var heard int
	defer c.w.Session.OnRead(func(session.Read) { heard++ })()
	c.write("\x00")
	for _, args := range []string{`{"file_path":"f"}`, `{"file_path":"f","offset":9}`, `{"file_path":"none"}`} {
		if _, err := c.w.Call(t.Context(), New(Options{}), args); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	if _, ok := c.w.Session.View().LastRead(filepath.Join(c.w.Root, "f")); ok || heard != 0 {
		t.Errorf("recorded: %v, told %d times", ok, heard)
	}
	c.write("x")
	c.want("", "1\tx")
	if heard != 1 {
		t.Errorf("told %d times of one read", heard)
	}
}
