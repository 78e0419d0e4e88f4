//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const sharedFiles = 10

// workspace is the folder that the server serves: files that all clients edit,
// each in a line of its own, and one file for each client.
type workspace struct {
	root   string
	shared [][]counter // by file and client
}

// counter is the number in one client's line of a shared file. After an edit
// that was cancelled it is either least or least+1.
type counter struct {
	least  int
	unsure bool
}

func makeWorkspace(dir string, clients int) (*workspace, error) {
	w := &workspace{root: filepath.Join(dir, "root")}
	for _, name := range []string{"root", "home", "tmp", "state"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	for f := range sharedFiles {
		var text strings.Builder
		for i := range clients {
			text.WriteString(line(i, 0))
		}
		if err := os.WriteFile(w.file(f), []byte(text.String()), 0o600); err != nil {
			return nil, err
		}
		w.shared = append(w.shared, make([]counter, clients))
	}
	return w, nil
}

func (w *workspace) file(f int) string { return filepath.Join(w.root, fmt.Sprintf("shared-%d.txt", f)) }

func line(client, n int) string { return fmt.Sprintf("client %d: %d.\n", client, n) }

// driver makes the calls of one client and checks each answer.
type driver struct {
	*client
	*report
	*workspace
	number int
	own    int // number in the client's own file
	random *rand.Rand
}

func (d *driver) run(ctx context.Context) {
	for ctx.Err() == nil {
		switch n := d.random.IntN(1000); {
		case n < 150:
			d.editShared()
		case n < 300:
			d.editOwn()
		case n < 400:
			d.search()
		case n < 450:
			d.list()
		case n < 480:
			d.shell("echo "+fmt.Sprint(n), fmt.Sprint(n))
		case n < 490:
			d.cancelled(ctx, "Bash", map[string]any{"command": "sleep 5; echo late"}, 50*time.Millisecond)
		case n < 500:
			d.do("Bash", map[string]any{"command": "echo task", "run_in_background": true})
		case n < 520 && !d.modern && d.session != "":
			if err := d.end(context.Background()); err != nil {
				d.violation("ending a session: %v", err)
			}
			d.count("sessions ended")
		default:
			d.do("Read", map[string]any{"file_path": d.file(d.random.IntN(sharedFiles)), "offset": d.number + 1, "limit": 1})
		}
	}
}

// do makes a call that must succeed.
func (d *driver) do(tool string, arguments map[string]any) string {
	a, err := d.call(context.Background(), tool, arguments)
	d.count(tool)
	if err != nil {
		d.violation("client %d, %s: %v", d.number, tool, err)
	} else if a.failed {
		d.violation("client %d, %s: %s", d.number, tool, a.text)
	}
	return a.text
}

// cancelled makes a call and hangs up after a while. It reports whether the
// call was answered before, and its answer.
func (d *driver) cancelled(ctx context.Context, tool string, arguments map[string]any, after time.Duration) (answer, bool) {
	ctx, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	a, err := d.call(ctx, tool, arguments)
	d.count("dropped " + tool)
	return a, err == nil
}

// editShared adds one to the client's line in a shared file. One edit in eight
// is dropped at a random time.
func (d *driver) editShared() {
	f := d.random.IntN(sharedFiles)
	c := &d.shared[f][d.number]
	if c.unsure {
		d.settle(f)
		return
	}
	if d.random.IntN(8) > 0 {
		d.do("Edit", d.increment(f, c.least))
		c.least++
		return
	}
	after := time.Duration(d.random.IntN(20_000)) * time.Microsecond
	if a, answered := d.cancelled(context.Background(), "Edit", d.increment(f, c.least), after); !answered {
		c.unsure = true
	} else if a.failed {
		d.violation("client %d, Edit: %s", d.number, a.text)
	} else {
		c.least++
	}
}

// increment returns the arguments of an Edit which adds one to n in the
// client's line.
func (d *driver) increment(f, n int) map[string]any {
	return map[string]any{"file_path": d.file(f), "old_string": line(d.number, n), "new_string": line(d.number, n+1)}
}

// settle edits a line after a dropped edit. The dropped one may arrive at any
// time until this edit succeeds, and has no effect after it.
func (d *driver) settle(f int) {
	c := &d.shared[f][d.number]
	var a answer
	for range 3 {
		text := d.do("Grep", map[string]any{"pattern": fmt.Sprintf("^client %d: ", d.number), "path": d.file(f), "output_mode": "content"})
		n := c.least
		switch {
		case strings.Contains(text, strings.TrimSpace(line(d.number, n+1))):
			n++
		case !strings.Contains(text, strings.TrimSpace(line(d.number, n))):
			d.violation("client %d: shared file %d holds neither %d nor %d: %.200s", d.number, f, n, n+1, text)
			return
		}
		var err error
		if a, err = d.call(context.Background(), "Edit", d.increment(f, n)); err == nil && !a.failed {
			d.count("Edit")
			*c = counter{least: n + 1}
			return
		}
	}
	d.violation("client %d, Edit after a dropped one: %s", d.number, a.text)
}

// checkShared compares the client's lines with the edits that were answered.
func (d *driver) checkShared() {
	for f := range sharedFiles {
		text, err := os.ReadFile(d.file(f))
		c := d.shared[f][d.number]
		if err != nil || !strings.Contains(string(text), line(d.number, c.least)) && !(c.unsure && strings.Contains(string(text), line(d.number, c.least+1))) {
			d.violation("client %d: an edit of shared file %d was lost (%v)", d.number, f, err)
		}
	}
}

func (d *driver) ownFile() string { return filepath.Join(d.root, fmt.Sprintf("own-%d.txt", d.number)) }

// editOwn writes the client's own file and reads it back.
func (d *driver) editOwn() {
	d.own++
	d.do("Write", map[string]any{"file_path": d.ownFile(), "content": fmt.Sprintf("token-%d-%d.\n", d.number, d.own)})
	if text := d.do("Read", map[string]any{"file_path": d.ownFile()}); !strings.Contains(text, fmt.Sprintf("token-%d-%d.", d.number, d.own)) {
		d.violation("client %d: a read after a write shows %.200s", d.number, text)
	}
}

// search looks for the text that the client wrote last, which must be found, and
// for the text before it, which must not.
func (d *driver) search() {
	d.editOwn()
	for n, want := range map[int]bool{d.own: true, d.own - 1: false} {
		text := d.do("Grep", map[string]any{"pattern": fmt.Sprintf("token-%d-%d\\.", d.number, n), "path": d.root})
		if got := strings.Contains(text, filepath.Base(d.ownFile())); got != want {
			d.violation("client %d: a search is stale: %.200s", d.number, text)
		}
	}
}

// list makes a file and removes it, and globs for it each time.
func (d *driver) list() {
	name := fmt.Sprintf("made-%d-%d.tmp", d.number, d.random.IntN(1_000_000))
	file := filepath.Join(d.root, name)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		d.violation("making a file: %v", err)
		return
	}
	for _, want := range []bool{true, false} {
		// The pattern differs from the name, so that an answer without files does not hold it.
		text := d.do("Glob", map[string]any{"pattern": name[:len(name)-1] + "?"})
		if strings.Contains(text, name) != want {
			d.violation("client %d: a listing is stale: %.200s", d.number, text)
		}
		_ = os.Remove(file)
	}
}

// shell runs a command that prints one word.
func (d *driver) shell(command, want string) {
	if text := d.do("Bash", map[string]any{"command": command}); !strings.HasPrefix(text, want) {
		d.violation("client %d: %s printed %.200s", d.number, command, text)
	}
}
