package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/terminal"
)

// Spec describes a command to start.
type Spec struct {
	Script string // the text that the shell runs
	Dir    string // absolute; it must exist
	Owner  string // owner of its folder for temporary files
	User   string // principal whose command it is
	// Workspace holds the folders of a session that works in a git worktree; nil: those of Config.
	Workspace *Workspace
	Name      string // part of the name of its output log
	// ReadOnly confines the command so that it changes nothing except for files in its
	// temporary folder. Start fails if that is not possible, unless Judged is set.
	ReadOnly bool
	// Judged is for a script that the analysis found to only read. It gets a clean
	// environment with Env added, and starts even where ReadOnly is not possible.
	Judged bool
	Env    []string
	// Hide lists further paths that the command must not read. Keep lists paths that it
	// must not change; they exist and are no links.
	Hide, Protect []string
	// Names lists protected names, of Config.Names, that the command must not make in a
	// root or the top folder of a repository.
	Names []string
	// Git is the plan of the git commands that Script shows. Protected names that they change to
	// what a commit has are opened for the command.
	Git *GitPlan
	// Grants lists accesses for a confined command; they override hidden and protected
	// paths.
	Grants []Grant
	// Uncontained starts the command outside the sandbox, where it sees the processes
	// of others.
	Uncontained bool
	// Proxy serves the command's proxy, for HTTP and SOCKS5, in the mode Ask if the
	// command has a network of its own. It must not block. Connections to l come from
	// the command or others of its owner; local connects to the ports of them. When
	// the command has ended, l is closed and stop is called, which returns texts for
	// Result.Unreached. nil: no way out.
	Proxy func(l net.Listener, local Local) (stop func() []string)
	// Grace is the time between the request to end and the kill of what the command
	// leaves running.
	Grace time.Duration
	// Input is the read end of a pipe for standard input; nil: the input is empty. Errors
	// is the write end of a pipe for standard error; nil: it goes to the output. Start
	// always closes both.
	Input, Errors *os.File
	// Terminal gives the command a terminal of its own, if Terminals permits it. Terminal shows
	// the output, and Input is typed. nil: none.
	Terminal *terminal.Emulator

	plan      bool     // git changes nothing, and prints what of opened it would
	opened    []string // see plan
	installed []string // further folders that it reads, unless they hold hidden paths
	// server is set for a program of StartServer. Nobody can be asked before it starts, so in
	// the mode Ask it never has the server's network. Protected names that exist at its start
	// are read-only for it; later ones are watched only with watched.
	server, watched bool
}

func (s Spec) closeFiles() {
	for _, f := range []*os.File{s.Input, s.Errors} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Running is a command that was started.
type Running struct {
	Output  *spool.Log
	Started time.Time

	enclosure
	process   *process.Process
	dir       string
	script    string
	marker    *os.File    // file in which the shell stores its last folder
	own       *ownNetwork // the network of its owner, also after the end; nil: it has none
	workspace *Workspace  // nil: that of the server

	endReason chan EndReason // the first reason to end it
	once      sync.Once
	ended     chan struct{}
	result    Result
}

// EndReason is the reason for which a command was ended.
type EndReason string

// The reasons.
const (
	ByItself  EndReason = ""
	Timeout   EndReason = "timeout"
	Cancelled EndReason = "cancelled"
	Stopped   EndReason = "stopped"
	Quota     EndReason = "quota"
	Closing   EndReason = "closing"
)

// Result describes how a command ended.
type Result struct {
	process.Exit
	EndReason  EndReason
	Dir        string   // last folder of the shell; "" if unknown
	Blocked    []string // facts on what the sandbox blocked
	Removed    []string // protected names that appeared meanwhile and were quarantined
	Quarantine string   // the quarantine folder; on another file system they are renamed in place
	// Appeared lists protected names that appeared meanwhile and stay, since a commit
	// has them.
	Appeared []string
	// Restored lists facts on what the command changed of the settings of git and was put
	// back, or not kept.
	Restored  []string
	Unreached []string // facts on the hosts that the proxy did not reach
	Cut       bool     // whether another process still had the output open when it ended
	Ended     time.Time
}

// outputWait is the timeout for the end of the output after the process tree has ended.
// Only a process outside the tree can still have the pipe open then.
const outputWait = 500 * time.Millisecond

// Start starts a command. The context applies only to the start. It returns ErrNoShell
// if there is no shell, and process.ErrClosed after a call of Close.
func (c *Commands) Start(ctx context.Context, s Spec) (*Running, error) {
	defer s.closeFiles()
	if c.shell == "" {
		return nil, ErrNoShell
	}
	if err := c.count(s.User, 1); err != nil {
		return nil, err
	}
	if err := c.enter(); err != nil {
		_ = c.count(s.User, -1)
		return nil, err
	}
	r, err := c.begin(ctx, s)
	if errors.Is(err, process.ErrNetworkGone) {
		r, err = c.begin(ctx, s) // in a new one
	}
	if err != nil {
		_ = c.count(s.User, -1)
		c.active.Done()
		return nil, err
	}
	go func() {
		defer c.active.Done()
		defer c.count(s.User, -1)
		r.watch()
	}()
	return r, nil
}

// count adds to the running commands of a principal. It fails if there would be too many.
func (c *Commands) count(principal string, n int) error {
	if c.config.Each == 0 {
		return nil
	}
	c.each.mu.Lock()
	defer c.each.mu.Unlock()
	now := c.each.of[principal] + n
	switch {
	case n > 0 && now > c.config.Each:
		return fault.New(fmt.Sprintf("%d commands of this user are running", c.config.Each), "Wait for one to end, or stop one with TaskStop.")
	case now == 0:
		delete(c.each.of, principal)
		return nil
	case c.each.of == nil:
		c.each.of = map[string]int{}
	}
	c.each.of[principal] = now
	return nil
}

func (c *Commands) begin(ctx context.Context, s Spec) (*Running, error) {
	confined, err := c.confines(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := c.standing(s.Workspace); err != nil {
		return nil, err
	}
	temp, err := c.temp.of(s.Owner)
	if err != nil {
		return nil, err
	}
	r := &Running{enclosure: enclosure{commands: c}, workspace: s.Workspace, dir: s.Dir, script: s.Script, endReason: make(chan EndReason, 1), ended: make(chan struct{}), Started: c.config.Now()}
	// The marker is read through this descriptor, so a replacement by the command is
	// ignored.
	if r.marker, err = os.CreateTemp(temp, ".dir-"); err != nil {
		return nil, fmt.Errorf("making a file for temporary use: %w", err)
	}
	args, variable, err := c.launch(s.Script, r.marker.Name())
	if err != nil {
		r.release()
		return nil, err
	}
	spec := process.Spec{Args: args, Dir: s.Dir, Grace: s.Grace, Env: c.environment(s.Dir, temp), Input: s.Input, Errors: s.Errors}
	if s.Judged {
		spec.Env = c.clean(s.Dir, temp, s.Env)
	}
	if s.Terminal != nil {
		cols, rows := s.Terminal.Size()
		spec.Terminal = &process.TerminalSize{Columns: uint16(cols), Rows: uint16(rows)}
		spec.Env = lastOfEach(append(spec.Env, "TERM=xterm-256color"))
	}
	if variable != "" {
		spec.Env = append(spec.Env, variable)
	}
	if (s.Workspace != nil || len(c.outside) > 0) && !s.Judged {
		// gc would change the logs of the checkout, which are protected.
		spec.Env = lastOfEach(withGitSetting(spec.Env, "gc.auto", "0"))
	}
	if c.networked(s, confined, c.Report(ctx)) {
		if r.network, err = c.attach(ctx, s); err != nil {
			r.release()
			return nil, err
		}
		r.own = r.network.own
		spec.Network, spec.Env = r.own.Network, r.network.environment(spec.Env)
	}
	if confined {
		if !s.Judged && !c.Report(ctx).Write.Coverage.Mounts {
			spec.Env = tempVariables(spec.Env, temp)
		}
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
	if err := r.start(ctx, runner, s, spec); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

func (r *Running) start(ctx context.Context, runner *process.Runner, s Spec, spec process.Spec) error {
	in, out, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	// Go's pipes do not block, and the command would inherit that mode: most programs
	// treat a full pipe as an error then. Fd makes this end block.
	_ = out.Fd()
	log, err := r.commands.output.New(s.Name)
	if err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	r.Output = log
	if s.Terminal != nil {
		log.Tap(s.Terminal)
	}
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

// shellOptions prevents bash from reading startup files and inherited functions.
var shellOptions = []string{"--norc", "--noprofile", "-p"}

// arguments returns the arguments of the shell. The script is an argument of its own
// rather than text after the trap, so that syntax errors show the script alone.
func (c *Commands) arguments(script, marker string) []string {
	args := []string{c.shell}
	if c.isBash() {
		args = append(args, shellOptions...)
	}
	trap := "trap " + quote("pwd -P >|"+quote(marker)+" 2>/dev/null") + " EXIT; "
	if c.findsItself(script) {
		return append(args, "-c", trap+`__=$(cat "$`+scriptVariable+`"); unset `+scriptVariable+`; eval "$__"`, filepath.Base(c.shell))
	}
	return append(args, "-c", trap+`__=$1; shift; eval "$__"`, filepath.Base(c.shell), script)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// watch waits for the end of a command, whatever the cause, and stores its result.
func (r *Running) watch() {
	defer close(r.ended)
	why := ByItself
	full := r.Output.Full()
	for running := true; running; {
		select {
		case <-r.process.Done():
			running = false
		case w := <-r.endReason:
			why = w
		case <-full:
			full = nil
			go r.End(Quota, 0)
		}
	}
	// Do this first: a server that is ending may not have the time to wait for output.
	w, unreached := r.leave()
	var removed, appeared, restored []string
	if w != nil {
		removed, appeared, restored = w.removed, w.appeared, w.restored
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
		case why = <-r.endReason:
		default:
			why = Closing
		}
	}
	if !x.Ended {
		why = ByItself // it ended before the request
	}
	r.result = Result{Exit: x, EndReason: why, Cut: cut, Dir: r.standing(), Removed: removed, Appeared: appeared, Restored: restored, Unreached: unreached, Quarantine: r.commands.guard.quarantinePath, Ended: r.commands.config.Now()}
	r.release()
	if r.policy != nil {
		if v, err := r.Output.View(blockedView); err == nil {
			text := v.Head + v.Tail
			if x.Code == 0 {
				text = unmistakable(text)
			}
			r.result.Blocked = r.Blocked(text)
			if x.Code != 0 && len(r.result.Blocked) == 0 {
				r.result.Blocked = r.unnamed(text)
			}
		}
	}
}

// standing returns the last folder of the shell, or "" if it is unknown. The command
// can write anything into the marker and replace the file. So it is read through the
// original descriptor and accepted only if it is the canonical path of a folder.
func (r *Running) standing() string {
	text := make([]byte, maxDir+1)
	n, _ := r.marker.ReadAt(text, 0) // a truncated path names no folder
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

// maxDir is the kernel's limit of the path of a folder, in bytes.
const maxDir = 4096

// release leaves the sandbox and removes the marker.
func (r *Running) release() {
	r.leave()
	_ = r.marker.Close()
	_ = os.Remove(r.marker.Name())
	_ = os.Remove(r.marker.Name() + scriptExt) // there may be none
}

// unmistakable returns the lines of a successful command's output, perhaps of a
// pipeline, that nearly always come from the sandbox.
func unmistakable(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		lower := strings.ToLower(line)
		if strings.Contains(lower, "read-only file system") || strings.Contains(lower, "device or resource busy") || strings.HasPrefix(line, "unshare: ") && strings.Contains(lower, "not permitted") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// blockedView is the limit of output that is searched for blocked accesses, in
// characters.
const blockedView = 8000

// Done returns a channel that is closed when the process tree of the command has ended
// and its result is known.
func (r *Running) Done() <-chan struct{} { return r.ended }

// Result waits for the end of the command and returns its result.
func (r *Running) Result() Result {
	<-r.ended
	return r.result
}

// From returns the folder in which the command started.
func (r *Running) From() string { return r.dir }

// Contained reports whether the command is confined.
func (r *Running) Contained() bool { return r.policy != nil }

// Blocked returns facts on what the sandbox blocked, guessed from output of the command.
func (r *Running) Blocked(output string) []string {
	if r.policy == nil {
		return nil
	}
	facts := r.explain(sandbox.Blocked(*r.policy, r.dir, r.script, output))
	if renamedLog.MatchString(output) {
		facts = append(facts, "git branch -m does not work beside other worktrees, whose branches and their logs are closed; use git switch -c NEW and git branch -d OLD")
	}
	return facts
}

// unnamed returns the fact that the sandbox has refused a change that the output does not name.
func (r *Running) unnamed(output string) []string {
	if fact := sandbox.Unnamed(*r.policy, r.dir, output); fact != "" {
		return []string{fact}
	}
	return nil
}

func (r *Running) explain(facts []string) []string {
	if r.workspace == nil {
		return r.commands.explain(facts)
	}
	return r.workspace.explain(facts)
}

// Hidden returns the existing paths below a canonical folder that were hidden from the
// command, relative to the folder. It omits paths that are closed to all tools, such as
// those of the server.
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

// End ends the process tree of the command: it asks the processes to end and kills them
// after grace. It returns when none is left. Only the first reason counts.
func (r *Running) End(why EndReason, grace time.Duration) error {
	r.once.Do(func() { r.endReason <- why })
	err := r.process.End(grace)
	if err == nil {
		<-r.ended
	}
	return err
}

// Interrupt sends SIGINT to the shell of the command and its process group. It does not wait. The
// returned channel is closed when the signal is pending, or the command has ended.
func (r *Running) Interrupt() <-chan struct{} { return r.process.Interrupt() }

// Forget removes the temporary folder and the network of an owner that is gone. No command
// of the owner may run any more.
func (c *Commands) Forget(owner string) {
	c.networks.forget(owner)
	c.temp.forget(owner)
}
