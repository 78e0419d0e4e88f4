// Package command starts shell commands for the tools. Each command gets a small
// environment, a private folder for temporary files, an output log, and a sandbox
// (package sandbox) that limits what it can touch. A trial before the first command
// tests what the sandbox enforces here; the package relies on nothing that the trial
// did not confirm.
//
// The server uses Commands. A supervisor process (package process) applies the sandbox:
// it runs Supervise. A process that tests the sandbox runs Try.
//
// # Details
//
//   - The policy is made anew for each command (a child of the home folder made since
//     is readable, a denied file made since is masked). The supervisor gets what was in
//     force in the trial; with less, nothing starts.
//   - The trial runs before the first command and where the list of tools depends on it
//     (attempt.go): in the background, read-only first; the list waits at most 5 s for
//     that part. A server that is only asked for its tools reads the stored result of
//     an earlier trial under the same circumstances (StoredReadOnly). If it fails for
//     the moment, BashReadOnly is absent (tools.ErrRetry) and listChanged is announced;
//     the next command repeats the trial, and if it passes the tool joins the list of
//     all connections at once (Registry.Refresh).
//   - Where a command ended is written by a trap of its shell into a file in its
//     temporary folder, read by the descriptor that made it; it is believed only if it
//     is the canonical path of a folder, since the command could write it too.
//   - Writable folders are found once, at start, none within another (grants.go): what
//     lies in one can be replaced by a link. A read-only command with cd is not
//     concurrency-safe: later calls are resolved where it leaves the session.
//   - When output cannot be stored, storing stops and the command goes on; only the
//     quota of one command ends it.
//   - Git's configuration (configs.go): a command gets a copy, by a link that is mounted over the
//     file, since git renames new files over it. The server judges the changes by key
//     (package gitconfig) and carries the harmless ones over. A rename over the file by
//     another program ends the mount in all namespaces; then the file itself is judged.
//   - Git guard: what exists under a protected name is mounted over; an absent folder
//     of hooks is made first; a file with further hard links becomes a copy, as git
//     makes one when it writes. What a command makes where nothing was, or nothing can
//     be mounted (links, linked worktrees, which git could not remove again), is judged
//     by its content at its end and every 5 s until then: results of git init, clone
//     and worktree add stay, all else is quarantined, from a descriptor of the root and
//     behind no link. Links that were there are made again. A journal in the state
//     folder has what was there before, so the next server looks at what a killed one
//     left.
//   - Git commands in the text of a command may change protected names (gitopen.go): a plan finds
//     which, they are open for the command, and a file that is not what it was, or what a commit
//     before the command has, is put back. Package gitfront refuses all else.
//   - In the mode Ask each owner has a network namespace (network.go). The proxy of a
//     command listens in it, on a port of the command's own, so that connections are
//     attributed to the command. Where the trial had no such network, commands have
//     the server's; where it had one, none starts without.
//   - Windows: the shell gets its script from a private file, since Git's bash and
//     PowerShell split command lines differently. -EncodedCommand is limited to 32,767
//     characters and prints errors as CLIXML.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/exec/gitconfig"
	"mcp-toolset/internal/exec/launch"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/record/state"
)

// Mode selects whether commands are confined.
type Mode string

// The modes.
const (
	Auto Mode = "auto" // as far as this system supports
	On   Mode = "on"   // completely; otherwise no command runs
	Off  Mode = "off"
)

// Config configures Commands. Paths are absolute.
type Config struct {
	Shell      string   // bash, or another shell that supports -c, trap and eval; "": FindShell
	Sandbox    Mode     // "": Auto
	AllowRead  []string // further files and folders that commands may read, even if they hold secrets
	AllowWrite []string
	NoCaches   bool        // toolchain caches are not writable
	Network    NetworkMode // "": Allow
	Roots      []string    // canonical; commands may change them
	Closed     []string    // paths that no command may read or change, such as tokens
	Protected  []string    // paths that no command may change, such as settings
	Names      []string    // all names that Spec.Names may contain
	Worktrees  string      // folder below which commands with a Workspace may write; "": none
	Home       string      // "": none
	State      string      // the server's state folder; commands neither read nor change it
	Environ    []string    // the server's environment; env.go defines which variables commands inherit
	Scrub      []string    // patterns of variables that commands do not inherit; * matches any text
	Pass       []string    // patterns of further variables that commands inherit
	Quota      spool.Quota
	Each       int // limit of the running commands of one principal; 0: none
	Now        func() time.Time
	Log        *slog.Logger
}

// Commands starts commands. It is safe for concurrent use.
type Commands struct {
	config   Config
	program  string // this program
	shell    string // "": none
	runner   *process.Runner
	free     *process.Runner // for commands that must see all processes
	output   *spool.Store
	temp     *tempFolders
	networks *networks
	// each counts running commands by principal.
	each struct {
		mu sync.Mutex
		of map[string]int
	}
	// writable lists the folders that commands may write to, except for caches.
	writable []string
	// outside lists the roots whose repository is in no root. Commands may change what of that
	// belongs to the root, as to any other worktree.
	outside []gitconfig.Root
	path    trustedPath
	guard   guard
	sweep   sync.Once
	tools   toolchains

	trying  sync.Mutex
	report  *Report     // nil: not tried
	attempt *attempt    // nil: none is running
	store   atomic.Bool // see Begin
	onTried func()      // nil: none

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // commands that start, run or are examined after their end
	ending sync.Once
	ended  error // result of Close
}

// New returns Commands for a configuration. It starts nothing and touches no file.
func New(c Config) (*Commands, error) {
	switch c.Sandbox {
	case "":
		c.Sandbox = Auto
	case Auto, On, Off:
	default:
		return nil, fmt.Errorf("the sandbox is %q; use auto, on or off", c.Sandbox)
	}
	switch c.Network {
	case "":
		c.Network = Allow
	case Allow, Ask, Deny:
	default:
		return nil, fmt.Errorf("the network of commands is %q; use allow, ask or deny", c.Network)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Quota == (spool.Quota{}) {
		c.Quota = spool.DefaultQuota
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which supervises commands: %w", err)
	}
	cs := &Commands{
		config: c, program: program, shell: c.Shell,
		runner: process.NewRunner(process.Config{Spares: 1, MaxSpares: 4, Log: c.Log}),
		free:   process.NewRunner(process.Config{Tiers: process.Together(), Log: c.Log}),
		output: spool.NewStore(filepath.Join(c.State, "output"), c.Quota, c.Now),
	}
	cs.networks = &networks{runner: cs.runner, owners: map[string]*ownNetwork{}}
	cs.writable = writable(c)
	for _, root := range c.Roots {
		if r, ok := gitconfig.Linked(root); ok && !cs.inWritable(r.Common) {
			cs.outside = append(cs.outside, r)
		}
	}
	for _, r := range cs.outside {
		cs.writable = append(cs.writable, r.Common)
	}
	cs.temp = &tempFolders{parents: tempParents(cs.inWritable)}
	if cs.shell == "" {
		folders := slices.DeleteFunc(cs.programs(), cs.inWritable)
		cs.shell = cs.findShell(folders)
	}
	cs.path = newTrustedPath(cs)
	cs.guard = guard{
		roots: c.Roots, home: c.Home, files: slices.Clone(c.Protected), closed: c.Closed, log: c.Log, every: guardEvery, settle: guardSettle,
		journal:        filepath.Join(c.State, "guarded"),
		makeQuarantine: cs.makeQuarantine, quarantinePath: cs.quarantinePath(), tracked: cs.tracked,
		scanner: newScanner(c.Names),
	}
	cs.guard.scanner.outside = cs.outside
	for _, root := range c.Roots {
		cs.guard.files = append(cs.guard.files, filepath.Join(root, settingsName))
	}
	return cs, nil
}

func (c *Commands) quarantinePath() string { return filepath.Join(c.config.State, "guarded", "taken") }

// makeQuarantine returns the folder for quarantined files, where the user can find them. It
// makes the folder if it is absent.
func (c *Commands) makeQuarantine() (string, error) {
	folder := c.quarantinePath()
	for _, dir := range []string{c.config.State, filepath.Dir(folder), folder} {
		if err := state.EnsurePrivate(dir); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// FindShell returns the path of bash, or else of sh, or "" if both are absent. It
// searches the folders of path, then /bin, /usr/bin and /usr/local/bin.
func FindShell(path string) string {
	folders := append(filepath.SplitList(path), "/bin", "/usr/bin", "/usr/local/bin")
	for _, name := range []string{"bash", "sh"} {
		for _, folder := range folders {
			if !filepath.IsAbs(folder) {
				continue
			}
			if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
				return found
			}
		}
	}
	return ""
}

// Shell returns the path of the shell that runs commands; "" if there is none.
func (c *Commands) Shell() string { return c.shell }

func (c *Commands) isBash() bool { return c.Language() == Bash }

// syntaxTime is the timeout for the shell to check the syntax of a command.
const syntaxTime = 2 * time.Second

// Malformed reports whether the shell finds a syntax error in a script. It runs the
// shell with -n, so that it executes nothing, and without startup files or an
// environment. It returns false if the shell cannot be asked.
func (c *Commands) Malformed(script string) bool {
	if c.shell == "" || c.Language() == PowerShell {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), syntaxTime)
	defer cancel()
	args := []string{"-n"}
	if c.isBash() {
		args = []string{"--norc", "--noprofile", "-n"}
	}
	cmd := exec.CommandContext(ctx, c.shell, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = []string{}, string(filepath.Separator), strings.NewReader(script+"\n")
	cmd.WaitDelay = syntaxTime
	if launch.Start(ctx, cmd, nil) != nil {
		return false
	}
	var exit *exec.ExitError
	return errors.As(cmd.Wait(), &exit) && exit.Exited()
}

// closeGrace is the time that commands have to end when the server does: its client
// kills the server after half a second.
const closeGrace = 150 * time.Millisecond

// Close ends all commands, including those in the background, and removes their
// temporary folders. It returns when the work after their end is done. After a call of
// Close, Start fails.
func (c *Commands) Close() error {
	c.ending.Do(func() {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		err := errors.Join(c.runner.Close(closeGrace), c.free.Close(closeGrace))
		if err == nil { // otherwise some commands do not end
			c.active.Wait()
		}
		c.networks.close()
		c.guard.close()
		c.trying.Lock()
		if r := c.report; r != nil && !exists(c.trialFile()) {
			c.remember(r.ReadOnly) // the state folder was made in the meantime
		}
		c.trying.Unlock()
		c.ended = errors.Join(err, c.output.Close(), c.temp.close())
	})
	return c.ended
}

// enter counts a command that Close has to wait for. It fails after a call of Close.
func (c *Commands) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return process.ErrClosed
	}
	c.active.Add(1)
	return nil
}

func (c *Commands) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// hidden returns the closed paths, except for absent ones that hold protected names: a name
// without a file cannot be masked, and the guard examines what appears there.
func (c *Commands) hidden() []string {
	return slices.DeleteFunc(slices.Clone(c.config.Closed), func(path string) bool {
		return !exists(path) && holdsAny(path, c.config.Protected)
	})
}

// policy returns the sandbox policy of a command, without caches. temp is its folder
// for temporary files, and at its workspace. Secrets below the granted paths are hidden, too.
func (c *Commands) policy(at *Workspace, readOnly bool, temp string, granted ...string) sandbox.Policy {
	hidden := append([]string{c.config.State, c.temp.base()}, c.hidden()...)
	links := sandbox.NewResolver()
	write, only := c.writableAt(at)
	programs := slices.Concat(c.programs(), c.toolchains(links))
	read, hide := sandbox.Readable(c.config.Home, slices.Concat(write, only, programs, c.config.AllowRead, granted), hidden...)
	p := sandbox.Policy{
		ReadOnly: readOnly, Read: read, Hide: without(hide, c.temp.base()), TempDir: temp, PrivateTemp: temp != "",
		Network: c.config.Network != Deny && !readOnly, FileRights: os.Geteuid() == 0, Outside: sandbox.CurrentNamespaces(),
	}
	p.Read = slices.Concat(p.Read, only, c.config.AllowRead)
	for _, path := range hide { // the other names of the folders of the system that hold secrets
		for above := filepath.Dir(path); sandbox.InSystem(above); above = filepath.Dir(above) {
			if !slices.Contains(p.List, above) {
				p.List = append(p.List, above)
			}
		}
	}
	for _, path := range slices.Concat(c.config.AllowRead, c.config.AllowWrite) {
		if holding(resolved(path), hidden) == "" {
			p.Hide = uncover(p.Hide, resolved(path))
		}
	}
	p.Write = append(p.Write, write...)
	for _, r := range c.outside {
		if at == nil {
			p.Exact = append(p.Exact, r.Common)
		}
	}
	if at != nil {
		p.Exact = slices.DeleteFunc(slices.Clone(write), func(path string) bool { return !slices.Contains(at.Roots, path) && path != at.Common })
	}
	for _, folder := range programs {
		if real := cmp.Or(links.Real(folder), folder); real != "/" && !c.writes(folder, real) && !holdsAny(real, hide) {
			p.Read = append(p.Read, folder)
		}
	}
	return p
}

// holdsAny reports whether one of some paths is folder or below it.
func holdsAny(folder string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return inside(p, folder) })
}

// inside reports whether a clean path is folder or below it.
func inside(path, folder string) bool {
	if onWindows {
		rel, err := filepath.Rel(folder, path) // ignores case
		return err == nil && rel != ".." && !strings.HasPrefix(rel, `..\`)
	}
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

func without(list []string, one string) []string {
	var out []string
	for _, s := range list {
		if s != one {
			out = append(out, s)
		}
	}
	return out
}

// programs returns the absolute folders of PATH, except /. Commands may run the
// programs that the user may.
func (c *Commands) programs() []string {
	var out []string
	for _, folder := range filepath.SplitList(c.variable("PATH")) {
		if filepath.IsAbs(folder) && filepath.Clean(folder) != "/" {
			out = append(out, filepath.Clean(folder))
		}
	}
	return out
}

// NewLog makes an output log for what is no command.
func (c *Commands) NewLog(name string) (*spool.Log, error) { return c.output.New(name) }
