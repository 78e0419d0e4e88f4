package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/file/workspace"
)

// TryArg is the only argument of a process that tests the sandbox: a program that is
// started with it must call Try and do nothing else.
const TryArg = "try-containment"

// tryVariable is the variable that holds the trial, in JSON.
const tryVariable = "MCP_TOOLSET_TRY"

// Report holds what was observed of the sandbox.
type Report struct {
	Tier        process.Tier // how reliably a process tree is ended
	TierMissing []string     // why there is no better tier
	TierErr     error        // why no command can be started
	Write       Trial        // policy of Bash
	ReadOnly    Trial        // policy of BashReadOnly
}

// Trial is the result of testing the sandbox under one policy.
type Trial struct {
	Coverage sandbox.Coverage
	Canaries []sandbox.Canary
	Err      error // why no test was possible; then commands are not confined
}

// InForce reports whether the sandbox is effective: nothing is written outside of
// the allowed folders, and operations that should work succeed.
func (t Trial) InForce() bool { return t.Err == nil && t.held("write") && t.held("work") }

func (t Trial) held(promise string) bool {
	for _, c := range t.Canaries {
		if c.Promise == promise {
			return c.Held
		}
	}
	return false
}

// lacks returns the promises that were not observed to hold.
func (t Trial) lacks() []string {
	var out []string
	for _, c := range t.Canaries {
		if !c.Held {
			out = append(out, c.Promise)
		}
	}
	return out
}

// Errors of a trial that was not made.
var (
	errOff = errors.New("the sandbox is switched off (--sandbox off)")
	// errRequired is the error of starting a command outside a required sandbox.
	errRequired = errors.New("the sandbox is required (--sandbox on)")
	errUntried  = errors.New("the containment could not be tried")
)

// Broken returns the promises that were not observed to hold, as "name: detail".
func (t Trial) Broken() []string {
	if t.Err != nil {
		return []string{t.Err.Error()}
	}
	if len(t.Canaries) == 0 {
		return []string{errUntried.Error()}
	}
	var out []string
	for _, c := range t.Canaries {
		if !c.Held {
			out = append(out, c.Promise+": "+c.Detail)
		}
	}
	return out
}

// disabledReason returns why commands are not confined whatever the system supports: by the
// mode, or by unbounded. It returns nil if they may be.
func (c *Commands) disabledReason() error {
	if c.config.Sandbox == Off {
		return errOff
	}
	return c.unbounded()
}

// unbounded returns an error if the settings let commands write everywhere.
func (c *Commands) unbounded() error {
	everything := func(path string) bool { return resolved(path) == "/" }
	if slices.ContainsFunc(c.config.Roots, everything) {
		return errors.New("a workspace root is /: nothing would be left to contain")
	}
	if slices.ContainsFunc(c.config.AllowWrite, everything) {
		return errors.New("the settings allow to write in /: nothing would be left to contain")
	}
	return nil
}

// trial is the message to the process that tests the sandbox.
type trial struct {
	Policy  sandbox.Policy
	Targets sandbox.Targets
}

// try tests the sandbox of a kind of commands, in a network of their own where the mode
// needs one. Without one, it tests the rest.
func (c *Commands) try(ctx context.Context, readOnly bool) Trial {
	if readOnly || c.config.Network != Ask {
		return c.tryIn(ctx, readOnly, nil)
	}
	n, err := c.runner.NewNetwork(ctx)
	if err == nil {
		defer n.Close()
		t := c.tryIn(ctx, readOnly, n)
		if t.Err == nil && t.held(promiseNetwork) || ctx.Err() != nil {
			return t
		}
		err = cmp.Or(t.Err, errors.New(strings.Join(t.Broken(), "; ")))
	}
	t := c.tryIn(ctx, readOnly, nil)
	if t.Err == nil {
		t.Canaries = append(t.Canaries, sandbox.NoNetwork(err))
	}
	return t
}

// tryIn starts a process that is confined like a command and tests the accesses that
// must be impossible for it.
func (c *Commands) tryIn(ctx context.Context, readOnly bool, network *process.Network) (t Trial) {
	folder, err := c.temp.of(map[bool]string{false: "try", true: "try read-only"}[readOnly])
	if err != nil {
		return Trial{Err: err}
	}
	targets, done, err := sandbox.NewTargets(folder)
	if err != nil {
		return Trial{Err: err}
	}
	defer done()
	targets.Elsewhere = c.config.Home
	temp, err := os.MkdirTemp(folder, "tmp")
	if err != nil {
		return Trial{Err: fmt.Errorf("making a folder for temporary files: %w", err)}
	}
	p := c.policy(nil, readOnly, temp)
	p.OwnNetwork = network != nil
	// No test runs in the user's folders.
	p.Write, p.Protect = nil, nil
	p = targets.Policy(p)
	p.Read = append(p.Read, c.program)
	shared, removeLayers := c.tryLayers(&p, folder)
	defer removeLayers()
	said := filepath.Join(temp, "coverage")
	in, out, err := os.Pipe()
	if err != nil {
		return Trial{Err: fmt.Errorf("making a pipe: %w", err)}
	}
	defer in.Close()
	running, err := c.runner.Start(ctx, process.Spec{
		Args: []string{c.program, TryArg}, Dir: "/", Output: out, Network: network,
		Env:     slices.Concat(process.HelperEnv, []string{tryVariable + "=" + string(encode(trial{p, targets})), "TMPDIR=" + temp}),
		Confine: encode(confinement{Policy: p, Say: said}),
	})
	if err != nil {
		return Trial{Err: err}
	}
	stop := context.AfterFunc(ctx, func() { _ = running.End(0) })
	defer stop()
	text, err := io.ReadAll(io.LimitReader(in, 1<<20))
	exit := running.Wait()
	if err != nil {
		return Trial{Err: fmt.Errorf("trying the containment: %w", err)}
	}
	if err := json.Unmarshal(text, &t.Canaries); err != nil {
		return Trial{Err: fmt.Errorf("trying the containment ended with code %d: %s", exit.Code, strings.TrimSpace(string(text)))}
	}
	if text, err = os.ReadFile(said); err == nil {
		err = json.Unmarshal(text, &t.Coverage)
	}
	if err != nil {
		return Trial{Err: fmt.Errorf("trying the containment: %w", err)}
	}
	if left, err := os.ReadDir(shared); err != nil || len(left) > 0 {
		t.Coverage.Layers = false
	}
	return t
}

// tryLayers adds an empty folder to a policy, with a layer over it, so that a write
// into the folder must not change it. The layer is on the file system of the state
// folder, which need not exist yet. The caller must call done.
func (c *Commands) tryLayers(p *sandbox.Policy, folder string) (shared string, done func()) {
	above := c.layersFolder()
	for _, err := os.Stat(above); err != nil && above != filepath.Dir(above); _, err = os.Stat(above) {
		above = filepath.Dir(above)
	}
	shared = filepath.Join(folder, "shared")
	if p.ReadOnly || filepath.Dir(above) == above || os.Mkdir(shared, 0o700) != nil {
		return "", func() {}
	}
	layers, err := os.MkdirTemp(above, ".mcp-toolset-try-")
	if err == nil {
		p.Write, p.Layered, p.Layers = append(p.Write, shared), []string{shared}, []string{layers}
	}
	return shared, func() {
		_ = os.RemoveAll(shared)
		if err == nil {
			_ = removeAll(layers)
		}
	}
}

// Try tests the sandbox of its own process and writes the results to out, in JSON. It
// returns the exit code.
func Try(out io.Writer) int {
	var t trial
	if err := json.Unmarshal([]byte(os.Getenv(tryVariable)), &t); err != nil {
		fmt.Fprintln(out, TryArg+" is how the server tries its containment; it is not for use by hand")
		return 2
	}
	if err := json.NewEncoder(out).Encode(sandbox.TryCanaries(t.Policy, t.Targets)); err != nil {
		return 1
	}
	return 0
}

// confines reports whether a command must be confined. It returns an error if the
// command must be and cannot.
func (c *Commands) confines(ctx context.Context, s Spec) (bool, error) {
	r := c.Report(ctx)
	if r.TierErr != nil {
		return false, r.TierErr
	}
	if s.Uncontained {
		if c.config.Sandbox == On {
			return false, errRequired
		}
		return false, nil
	}
	if s.ReadOnly {
		switch err := c.ReadOnly(ctx); {
		case err == nil:
			return true, c.required(r.ReadOnly)
		case !s.Judged:
			return false, err
		}
		// The analysis found that it only reads: a partial sandbox is better than none.
		return r.ReadOnly.InForce(), c.required(r.ReadOnly)
	}
	if r.Write.InForce() {
		return true, c.required(r.Write)
	}
	return false, c.required(r.Write)
}

// required returns an error if the mode requires the sandbox and t shows that it is
// incomplete.
func (c *Commands) required(t Trial) error {
	if broken := t.Broken(); c.config.Sandbox == On && len(broken) > 0 {
		return fmt.Errorf("the sandbox is required (--sandbox on) and not whole: %s", strings.Join(broken, "; "))
	}
	return nil
}

// Required returns an error if the mode requires the sandbox and it is incomplete.
func (c *Commands) Required(ctx context.Context) error {
	if c.config.Sandbox != On {
		return nil
	}
	r := c.Report(ctx)
	return errors.Join(c.required(r.Write), c.required(r.ReadOnly))
}

// ReadOnly returns nil if the kernel prevents a command from changing anything, as a
// trial confirmed, or otherwise the reason why not.
func (c *Commands) ReadOnly(ctx context.Context) error { return c.readOnly(c.Report(ctx).ReadOnly) }

func (c *Commands) readOnly(t Trial) error {
	if t.Err != nil {
		return t.Err
	}
	if len(t.Canaries) == 0 {
		return errUntried
	}
	return c.readOnlyLacks(t.lacks())
}

// readOnlyLacks returns nil if read-only commands do not depend on any of the promises
// that do not hold.
func (c *Commands) readOnlyLacks(promises []string) error {
	for _, promise := range promises {
		// Secrets outside of the roots are not granted in the first place, so only
		// those inside must be hidden.
		if promise != "hide" || c.hides() {
			return fmt.Errorf("the read-only containment does not hold here: %s", promise)
		}
	}
	return nil
}

// hides reports whether there are secrets in folders that commands may read.
func (c *Commands) hides() bool {
	p := c.policy(nil, true, "")
	for _, h := range p.Hide {
		if _, err := os.Lstat(h); err != nil {
			continue
		}
		for _, r := range append(p.Write, p.Read...) {
			if inside(h, filepath.Clean(r)) || inside(resolved(h), filepath.Clean(r)) {
				return true
			}
		}
	}
	return false
}

// Uncontained returns the reason why commands that may write are not confined, or nil.
func (c *Commands) Uncontained(ctx context.Context) error {
	switch t := c.Report(ctx).Write; {
	case t.Err != nil:
		return t.Err
	case !t.InForce():
		return errors.New("the containment does not hold: " + strings.Join(t.Broken(), "; "))
	}
	return nil
}

// Terminals returns the reason why commands cannot have a terminal of their own, or nil.
func (c *Commands) Terminals(ctx context.Context) error {
	if err := c.Uncontained(ctx); err != nil {
		return err
	}
	if !c.Report(ctx).Write.Coverage.Terminals {
		return errors.New("the containment has no terminals of its own here")
	}
	return nil
}

// Exposed reports whether a command can read files in the roots that are hidden from
// it.
func (c *Commands) Exposed(ctx context.Context) bool {
	r := c.Report(ctx)
	return r.Write.Err != nil || !r.Write.held("hide") || r.ReadOnly.Err != nil || !r.ReadOnly.held("hide") || c.evadable()
}

// evadable reports whether a root ignores case in a way that masks of single files miss.
func (c *Commands) evadable() bool {
	write, _ := c.writableAt(nil)
	return slices.ContainsFunc(write, workspace.SeveralNames)
}

// Open returns the accesses that the sandbox cannot prevent in folders that commands
// may use, since only mounts could: changing protected names, reading secrets. denied
// is true if rules deny reading further files.
func (c *Commands) Open(ctx context.Context, denied bool) []string {
	t := c.Report(ctx).Write
	if !t.InForce() {
		return nil
	}
	evadable := c.evadable()
	var out []string
	if !t.held("protect") || evadable {
		out = append(out, "changing protected files such as .git/config and .git/hooks")
	}
	if (!t.held("hide") || evadable) && (denied || c.hides()) {
		out = append(out, "reading files that are denied or secret")
	}
	return out
}
