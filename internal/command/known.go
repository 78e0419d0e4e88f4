package command

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcp-toolset/internal/sandbox"
	"mcp-toolset/internal/state"
)

// known is what the file of the last trial holds.
type known struct {
	Key    string   // what it was made under; see circumstances
	Broken []string // promises that read-only commands did not keep
}

// maxKnown bounds the file, in bytes.
const maxKnown = 64 << 10

// ReadOnlyKnown is ReadOnly without trying, if that was done before under the
// same circumstances by a server with the same state folder: it saves starting
// processes for a server that only has to say which tools it has. What runs is
// never decided by it: Start tries by itself. Otherwise it waits for the trial, for
// a bounded time; ErrLater is in the error if there may be another answer later.
//
// The answer is stored only where there is a state folder: a server that was asked
// for its tools, and did nothing else, leaves nothing behind.
func (c *Commands) ReadOnlyKnown(ctx context.Context) error {
	if c.config.Sandbox == Off {
		return errOff
	}
	if broken, ok := c.knownReadOnly(); ok {
		return c.readOnlyLacks(broken)
	}
	r, a := c.attempted()
	if a != nil {
		r = a.wait(ctx, a.readOnly, startTime)
	}
	err := c.readOnly(r.ReadOnly)
	if r.ReadOnly.Err != nil && sandbox.Supported && c.unwanted() == nil {
		return &later{err}
	}
	return err
}

// ErrLater is wrapped by the error of a trial that may succeed the next time.
var ErrLater = errors.New("it is tried again with the next command")

// later is an error with ErrLater in it.
type later struct{ error }

func (l *later) Error() string   { return l.error.Error() + "; " + ErrLater.Error() }
func (l *later) Unwrap() []error { return []error{l.error, ErrLater} }

// OnTried calls f when the containment has been tried, at once if it already was.
func (c *Commands) OnTried(f func()) {
	c.trying.Lock()
	c.onTried = f
	tried := c.report != nil
	c.trying.Unlock()
	if tried {
		f()
	}
}

func (c *Commands) knownFile() string { return filepath.Join(c.config.State, "containment.json") }

// knownReadOnly returns the promises that did not hold in an earlier trial.
func (c *Commands) knownReadOnly() (broken []string, ok bool) {
	k, err := readKnown(c.knownFile())
	return k.Broken, err == nil && k.Key == c.circumstances()
}

// remember stores a trial unless it failed: it may work the next time.
func (c *Commands) remember(t Trial) {
	if t.Err != nil || len(t.Canaries) == 0 || !exists(c.config.State) {
		return
	}
	if err := writeKnown(c.knownFile(), known{c.circumstances(), t.lacks()}); err != nil {
		c.config.Log.Debug("the trial of the containment is not stored", "error", err)
	}
}

func readKnown(file string) (k known, err error) {
	f, err := os.Open(file)
	if err != nil {
		return k, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKnown+1))
	switch {
	case err != nil:
		return k, err
	case len(text) > maxKnown:
		return k, errors.New("the file is too long")
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return known{}, err
	}
	return k, nil
}

// writeKnown replaces the file in one step, so that whoever reads it reads one
// of two.
func writeKnown(file string, k known) error {
	if err := state.EnsurePrivate(filepath.Dir(file)); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".containment-*") // 0600
	if err != nil {
		return fmt.Errorf("keeping the trial of the containment: %w", err)
	}
	_, err = f.Write(encode(k))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("keeping the trial of the containment: %w", err)
	}
	return nil
}

// circumstances is a hash of all that a trial depends on: this boot of this
// kernel, this program, the rights and limits of this process, and the settings.
func (c *Commands) circumstances() string {
	var program struct {
		Size int64
		Time time.Time
	}
	if info, err := os.Stat(c.program); err == nil {
		program.Size, program.Time = info.Size(), info.ModTime().UTC()
	}
	users, _ := os.Readlink("/proc/self/ns/user")
	sum := sha256.Sum256(encode([]any{
		contents("/proc/sys/kernel/random/boot_id"), contents("/proc/sys/kernel/osrelease"),
		contents("/proc/sys/user/max_user_namespaces"), contents("/proc/sys/kernel/unprivileged_userns_clone"),
		contents("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		c.program, program, os.Geteuid(), os.Getegid(), rights(), contents("/proc/self/attr/current"), sandbox.Here(), users,
		c.config.Sandbox, c.config.Roots, c.config.AllowRead, c.config.AllowWrite, c.config.Closed, c.config.Protected, c.config.Home, c.config.State, c.config.Offline,
		c.programs(), os.TempDir(),
	}))
	return fmt.Sprintf("%x", sum)
}

// rights are the lines of this process's status that say what it may do and
// which filters a container has put on it.
func rights() []string {
	var out []string
	for line := range strings.Lines(contents("/proc/self/status")) {
		name, _, _ := strings.Cut(line, ":")
		switch name {
		case "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters", "Groups":
			out = append(out, line)
		}
	}
	return out
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// contents is the text of a small file of the system, "" if there is none.
func contents(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(text)
}
