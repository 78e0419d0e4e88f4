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

	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/record/state"
)

// storedTrial is the content of the file that stores the last trial.
type storedTrial struct {
	Key    string   // hash of the circumstances of the trial; see circumstances
	Broken []string // promises that did not hold for read-only commands
}

// maxStoredTrial is the limit of the file, in bytes.
const maxStoredTrial = 64 << 10

// StoredReadOnly is ReadOnly, but uses the stored trial of a server with the same state
// folder if it was made under the same circumstances. That saves a server that only
// lists its tools from starting processes. It never decides how a command runs: Start
// makes its own trial. Without a stored trial it waits for a new one, for startTime at
// most. The error wraps ErrRetry if the answer may change later.
//
// The trial is stored if the state folder exists or Begin asks for it: a server makes the
// folder, a command such as doctor leaves no files.
func (c *Commands) StoredReadOnly(ctx context.Context) error {
	if c.config.Sandbox == Off {
		return errOff
	}
	if broken, ok := c.storedPromises(); ok {
		return c.readOnlyLacks(broken)
	}
	r, a := c.attempted()
	if a != nil {
		r = a.wait(ctx, a.readOnly, startTime)
	}
	err := c.readOnly(r.ReadOnly)
	if r.ReadOnly.Err != nil && sandbox.Supported && c.disabledReason() == nil {
		return &retryError{err}
	}
	return err
}

// ErrRetry is wrapped by the error of a trial that may succeed when it is repeated.
var ErrRetry = errors.New("it is tried again with the next command")

// retryError is an error that wraps ErrRetry.
type retryError struct{ error }

func (l *retryError) Error() string   { return l.error.Error() + "; " + ErrRetry.Error() }
func (l *retryError) Unwrap() []error { return []error{l.error, ErrRetry} }

// OnTried registers f to be called when a trial is complete. If one already is, it
// calls f at once.
func (c *Commands) OnTried(f func()) {
	c.trying.Lock()
	c.onTried = f
	tried := c.report != nil
	c.trying.Unlock()
	if tried {
		f()
	}
}

func (c *Commands) trialFile() string { return filepath.Join(c.config.State, "containment.json") }

// storedPromises returns the promises that did not hold in a stored trial. ok is false
// if there is none for the present circumstances.
func (c *Commands) storedPromises() (broken []string, ok bool) {
	k, err := readTrial(c.trialFile())
	return k.Broken, err == nil && k.Key == c.circumstances()
}

// remember stores a trial, unless it failed, since it may work the next time.
func (c *Commands) remember(t Trial) {
	if t.Err != nil || len(t.Canaries) == 0 || !c.store.Load() && !exists(c.config.State) {
		return
	}
	if err := writeTrial(c.trialFile(), storedTrial{c.circumstances(), t.lacks()}); err != nil {
		c.config.Log.Debug("the trial of the containment is not stored", "error", err)
	}
}

func readTrial(file string) (k storedTrial, err error) {
	f, err := os.Open(file)
	if err != nil {
		return k, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxStoredTrial+1))
	switch {
	case err != nil:
		return k, err
	case len(text) > maxStoredTrial:
		return k, errors.New("the file is too long")
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return storedTrial{}, err
	}
	return k, nil
}

// writeTrial replaces the file by an atomic write, so that readers see either the old
// or the new one.
func writeTrial(file string, k storedTrial) error {
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

// circumstances returns a hash of everything that a trial depends on: this boot of this
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
		contents("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"), contents("/System/Library/CoreServices/SystemVersion.plist"),
		c.program, program, os.Geteuid(), os.Getegid(), rights(), contents("/proc/self/attr/current"), sandbox.CurrentNamespaces(), users,
		c.config.Sandbox, c.config.Roots, c.config.AllowRead, c.config.AllowWrite, c.config.Closed, c.config.Protected, c.config.Home, c.config.State, c.config.Network,
		c.programs(), os.TempDir(),
	}))
	return fmt.Sprintf("%x", sum)
}

// rights returns the lines of this process's status that show its rights and the
// filters that a container applies to it.
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

// contents returns the text of a small system file, or "" if it cannot be read.
func contents(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(text)
}
