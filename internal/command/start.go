package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/process"
	"mcp-toolset/internal/sandbox"
	"mcp-toolset/internal/spool"
)

// Spec is a command to start.
type Spec struct {
	Script string // what the shell runs
	Dir    string // absolute; it must exist
	Owner  string // whose folder for temporary files it gets
	Name   string // part of the name of the file of its output
	// ReadOnly has it contained so that it changes nothing but its folder for
	// temporary files; Start fails if that cannot be had and must.
	ReadOnly bool
	// Judged is for a script that was judged to only read: it gets a clean
	// environment with Env added, and is started also where ReadOnly cannot be
	// had.
	Judged bool
	Env    []string
	// Hide are further files and folders that the command must not read, Keep
	// those that it must not change, which exist and are no links.
	Hide, Keep []string
	// Names are protected names, of Config.Names, that the command may not make
	// in a root or the top folder of a repository.
	Names []string
	// Grants are opened for a contained command, whatever hides or protects them.
	Grants []Grant
	// Uncontained starts the command without containment, where it sees the
	// processes of others.
	Uncontained bool
	// Grace is how long what it leaves running may take to end.
	Grace time.Duration
}

// Running is a command that was started.
type Running struct {
	Output  *spool.Log
	Started time.Time

	commands *Commands
	process  *process.Process
	policy   *sandbox.Policy // nil: it is not contained
	dir      string
	script   string
	marker   *os.File  // in which the shell says where it ended
	guarded  *watched  // of its protected names; nil: none is watched
	layer    io.Closer // the lock of its layer over caches; nil: it has none
	undo     func()    // removes what was made for it and not used; nil: nothing was

	why    chan Why // the first reason to end it
	once   sync.Once
	ended  chan struct{}
	result Result
}

// Why says why a command was ended.
type Why string

// The reasons.
const (
	ByItself  Why = ""
	Timeout   Why = "timeout"
	Cancelled Why = "cancelled"
	Stopped   Why = "stopped"
	Quota     Why = "quota"
	Closing   Why = "closing"
)

// Result is how a command ended.
type Result struct {
	process.Exit
	Why     Why
	Dir     string   // where the shell was at its end; "" if that is not known
	Blocked []string // what of its failure is due to the containment
	Removed []string // protected names that appeared meanwhile and were taken away
	TakenTo string   // the folder they are in now, or else beside what they were
	// Appeared is protected names that appeared meanwhile and stay, since the
	// last commit has them.
	Appeared []string
	Cut      bool // somebody else still had its output when it had ended
	Ended    time.Time
}

// outputWait is how long the end of the output is waited for when a command and
// all it started have ended: only a process that is none of its own can have
// the pipe then.
const outputWait = 500 * time.Millisecond

// Start starts a command. The context is for starting only.
func (c *Commands) Start(ctx context.Context, s Spec) (*Running, error) {
	if c.shell == "" {
		return nil, ErrNoShell
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	r, err := c.begin(ctx, s)
	if err != nil {
		c.active.Done()
		return nil, err
	}
	go func() {
		defer c.active.Done()
		r.watch()
	}()
	return r, nil
}

func (c *Commands) begin(ctx context.Context, s Spec) (*Running, error) {
	confined, err := c.confines(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := c.standing(); err != nil {
		return nil, err
	}
	temp, err := c.temp.of(s.Owner)
	if err != nil {
		return nil, err
	}
	r := &Running{commands: c, dir: s.Dir, script: s.Script, why: make(chan Why, 1), ended: make(chan struct{}), Started: c.config.Now()}
	// It is read by this descriptor: what the command puts in its place is not.
	if r.marker, err = os.CreateTemp(temp, ".dir-"); err != nil {
		return nil, fmt.Errorf("making a file for temporary use: %w", err)
	}
	args, variable, err := c.launch(s.Script, r.marker.Name())
	if err != nil {
		r.release()
		return nil, err
	}
	spec := process.Spec{Args: args, Dir: s.Dir, Grace: s.Grace, Env: c.environment(s.Dir, temp)}
	if s.Judged {
		spec.Env = c.clean(s.Dir, temp, s.Env)
	}
	if variable != "" {
		spec.Env = append(spec.Env, variable)
	}
	if confined {
		spec.Env = c.withGitSettings(spec.Env, temp)
		if spec.Confine, err = r.confine(s, temp, c.Report(ctx)); err != nil {
			r.release()
			return nil, err
		}
	}
	runner := c.runner
	if s.Uncontained {
		runner = c.free
	}
	if err := r.start(ctx, runner, s.Name, spec); err != nil {
		if r.guarded != nil {
			c.guard.end(r.guarded)
		}
		r.release()
		return nil, err
	}
	return r, nil
}

func (r *Running) start(ctx context.Context, runner *process.Runner, name string, spec process.Spec) error {
	in, out, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	// Go's pipes do not block, and that mode would be the command's too: most
	// programs take a full pipe for an error then. Fd makes this end block.
	_ = out.Fd()
	log, err := r.commands.output.New(name)
	if err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	r.Output = log
	pumped := make(chan error, 1)
	go func() { pumped <- log.Pump(in) }()
	spec.Output = out
	if r.process, err = runner.Start(ctx, spec); err != nil {
		<-pumped
		_ = log.Remove()
		return err
	}
	return nil
}

// shellOptions keep bash from reading anything that is not the command.
var shellOptions = []string{"--norc", "--noprofile", "-p"}

// arguments are those of the shell. What it runs comes as an argument, and not
// behind the trap, so that messages on its syntax show it alone.
func (c *Commands) arguments(script, marker string) []string {
	args := []string{c.shell}
	if c.isBash() {
		args = append(args, shellOptions...)
	}
	run := "trap " + quote("pwd -P >|"+quote(marker)+" 2>/dev/null") + ` EXIT; __=$1; shift; eval "$__"`
	return append(args, "-c", run, filepath.Base(c.shell), script)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// watch waits for the end of a command, whatever ends it.
func (r *Running) watch() {
	defer close(r.ended)
	why := ByItself
	full := r.Output.Full()
	for running := true; running; {
		select {
		case <-r.process.Done():
			running = false
		case w := <-r.why:
			why = w
		case <-full:
			full = nil
			go r.End(Quota, 0)
		}
	}
	// At once: a server that is ending may not have the time to wait for output.
	var removed, appeared []string
	if r.guarded != nil {
		removed = r.commands.guard.end(r.guarded)
		appeared = r.guarded.appeared
	}
	cut := false
	select {
	case <-r.Output.Done():
	case <-time.After(outputWait):
		cut = true
	}
	r.Output.Finish(0)
	x := r.process.Wait()
	if why == ByItself && x.Ended {
		select {
		case why = <-r.why:
		default:
			why = Closing
		}
	}
	if !x.Ended {
		why = ByItself // it was quicker
	}
	r.result = Result{Exit: x, Why: why, Cut: cut, Dir: r.standing(), Removed: removed, Appeared: appeared, TakenTo: r.commands.guard.takenTo, Ended: r.commands.config.Now()}
	r.release()
	if r.policy != nil {
		if v, err := r.Output.View(blockedView); err == nil {
			text := v.Head + v.Tail
			if x.Code == 0 {
				text = unmistakable(text)
			}
			r.result.Blocked = sandbox.Blocked(*r.policy, r.dir, r.script, text)
		}
	}
}

// standing is where the shell was at its end. The command can write what it
// likes into the marker and put something else in its place, so it is read
// through the file that was made, and believed only if it is the canonical path
// of a folder.
func (r *Running) standing() string {
	text := make([]byte, maxDir+1)
	n, _ := r.marker.ReadAt(text, 0) // what is cut off is the path of nothing
	dir := strings.TrimSuffix(string(text[:n]), "\n")
	if onWindows {
		dir = filepath.FromSlash(strings.TrimSuffix(dir, "\r"))
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !samePath(real, dir) {
		return ""
	}
	dir = real
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// maxDir is the longest path of a folder, in bytes: the kernel's limit.
const maxDir = 4096

// release removes the marker, unlocks the layer, and removes what was made for the
// command and not used.
func (r *Running) release() {
	if r.undo != nil {
		r.undo()
	}
	if r.layer != nil {
		_ = r.layer.Close()
	}
	_ = r.marker.Close()
	_ = os.Remove(r.marker.Name())
	if onWindows || r.commands.Language() == PowerShell {
		_ = os.Remove(r.marker.Name() + scriptExt)
	}
}

// unmistakable is the lines of a command that ended well, a pipeline perhaps,
// which tell of the containment and of hardly anything else.
func unmistakable(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if lower := strings.ToLower(line); strings.Contains(lower, "read-only file system") || strings.Contains(lower, "device or resource busy") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// blockedView is how much of the output is looked through for reasons, in
// characters.
const blockedView = 8000

// Done is closed when the command and all it started have ended and what they
// printed is known.
func (r *Running) Done() <-chan struct{} { return r.ended }

// Result is how it ended; it waits for that.
func (r *Running) Result() Result {
	<-r.ended
	return r.result
}

// From is the folder it was started in.
func (r *Running) From() string { return r.dir }

// Contained reports whether the command is contained.
func (r *Running) Contained() bool { return r.policy != nil }

// Hidden returns the names below a canonical folder that were hidden from the
// command, relative to it, except those of the server itself.
func (r *Running) Hidden(folder string) (names []string) {
	if r.policy == nil {
		return nil
	}
	for _, path := range r.policy.Hide {
		if r.commands.closedToAll(path) {
			continue
		}
		if path = resolved(path); path != folder && inside(path, folder) && exists(path) {
			names = append(names, strings.TrimPrefix(path, strings.TrimSuffix(folder, "/")+"/"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// End ends the command and all it started: they are told, and killed after
// grace. It returns when nothing is left. The first reason given is the one
// that counts.
func (r *Running) End(why Why, grace time.Duration) error {
	r.once.Do(func() { r.why <- why })
	err := r.process.End(grace)
	if err == nil {
		<-r.ended
	}
	return err
}

// confinement is what a supervisor is given: what the command may touch, and
// what must be in force, because it was when it was tried.
type confinement struct {
	Policy          sandbox.Policy
	Landlock        int
	Seccomp, Mounts bool
	Say             string // a file that is to hold what is in force; "": none
}

// confine finds what the command may touch, and opens that for its grants.
func (r *Running) confine(s Spec, temp string, report *Report) (_ json.RawMessage, err error) {
	c := r.commands
	p := c.policy(s.ReadOnly, temp, paths(s.Grants)...)
	p.Hide = append(p.Hide, s.Hide...)
	tried := report.ReadOnly.Coverage
	r.layer = c.grantCaches(&p, report.Write.Coverage.Layers)
	if !s.ReadOnly {
		r.guarded, p.Protect = c.guard.begin(append(slices.Clone(p.Write), temp), s.Names...)
		p.Protect = append(c.guard.grant(r.guarded, p.Protect, s.Grants), s.Keep...)
		tried = report.Write.Coverage
	}
	if r.undo, err = open(&p, s.Grants, tried.Mounts); err != nil {
		if r.guarded != nil {
			c.guard.end(r.guarded)
		}
		return nil, err
	}
	r.policy = &p
	return encode(confinement{Policy: p, Landlock: tried.Landlock, Seccomp: tried.Seccomp, Mounts: tried.Mounts}), nil
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data
	}
	return data
}

// Supervise is the life of a supervisor of a command, for a program whose only
// argument is process.Arg. It returns the exit code.
func Supervise() int {
	return process.Serve(func(spec json.RawMessage, start func() error) error {
		var c confinement
		if err := json.Unmarshal(spec, &c); err != nil {
			return err
		}
		return sandbox.Within(c.Policy, func(has sandbox.Coverage) error {
			if has.Landlock < c.Landlock || c.Seccomp && !has.Seccomp || c.Mounts && !has.Mounts {
				return fmt.Errorf("less is in force than when it was tried: %s", strings.Join(has.Missing, "; "))
			}
			if c.Say != "" {
				if err := os.WriteFile(c.Say, encode(has), 0o600); err != nil {
					return err
				}
			}
			return start()
		})
	})
}

// Forget removes what is kept for an owner who is gone, when none of its
// commands runs any more.
func (c *Commands) Forget(owner string) { c.temp.forget(owner) }
