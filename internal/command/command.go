// Package command starts shell commands as the tools mean them: with a small
// environment, a private folder for temporary files, output that is kept, and
// contained (package sandbox) so that each can touch only what it should. What
// holds of the containment is tried before the first command is started, and
// nothing that was not seen to hold is relied on.
//
// The server's side is Commands. A supervisor process (package process) applies
// the containment: Supervise is its life, Try that of a process that tries it.
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
	"time"

	"mcp-toolset/internal/launch"
	"mcp-toolset/internal/process"
	"mcp-toolset/internal/sandbox"
	"mcp-toolset/internal/spool"
	"mcp-toolset/internal/state"
)

// Mode says whether commands are contained.
type Mode string

// The modes.
const (
	Auto Mode = "auto" // as far as this system can
	On   Mode = "on"   // wholly, or no command runs
	Off  Mode = "off"
)

// Config is what commands are started with. Paths are absolute.
type Config struct {
	Shell      string   // bash, or another shell that knows -c, trap and eval; "": FindShell
	Sandbox    Mode     // "": Auto
	AllowRead  []string // further files and folders that commands may read, also if they hold secrets
	AllowWrite []string
	NoCaches   bool     // toolchain caches are not writable
	Offline    bool     // commands reach no network
	Roots      []string // canonical; what commands may change
	Closed     []string // what no command may read or change, such as tokens
	Protected  []string // what no command may change, such as settings
	Names      []string // all names that Spec.Names may have
	Home       string   // "": none
	State      string   // the server's state folder, which commands neither read nor change
	Environ    []string // the server's environment, of which commands get what env.go says
	Scrub      []string // names of variables, * for any characters, that they do not get
	Pass       []string // further ones that they do get
	Quota      spool.Quota
	Now        func() time.Time
	Log        *slog.Logger
}

// Commands starts commands. It is safe for concurrent use.
type Commands struct {
	config  Config
	program string // this program
	shell   string // "": there is none
	runner  *process.Runner
	free    *process.Runner // of commands that are to see all processes
	output  *spool.Store
	temp    *tempFolders
	// writable is what commands may write to beside caches.
	writable []string
	path     trustedPath
	guard    guard
	sweep    sync.Once

	trying  sync.Mutex
	report  *Report  // nil: not tried
	attempt *attempt // nil: none is under way
	onTried func()   // nil: none

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // commands that start, run or are looked at behind their end
	ending sync.Once
	ended  error // what Close answers
}

// New makes Commands. It starts nothing and touches no file.
func New(c Config) (*Commands, error) {
	switch c.Sandbox {
	case "":
		c.Sandbox = Auto
	case Auto, On, Off:
	default:
		return nil, fmt.Errorf("the sandbox is %q; use auto, on or off", c.Sandbox)
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
		runner: process.NewRunner(process.Config{Spares: 1, MostSpares: 4, Log: c.Log}),
		free:   process.NewRunner(process.Config{Tiers: process.Together(), Log: c.Log}),
		output: spool.NewStore(filepath.Join(c.State, "output"), c.Quota, c.Now),
	}
	cs.writable = writable(c)
	cs.temp = &tempFolders{parents: tempParents(cs.inWritable)}
	if cs.shell == "" {
		folders := slices.DeleteFunc(cs.programs(), cs.inWritable)
		cs.shell = cs.findShell(folders)
	}
	cs.path = newTrustedPath(cs)
	cs.guard = guard{
		roots: c.Roots, files: slices.Clone(c.Protected), log: c.Log, every: guardEvery, settle: guardSettle,
		journal: filepath.Join(c.State, "guarded"),
		away:    cs.taken, takenTo: cs.takenTo(), tracked: cs.tracked,
		scanner: newScanner(c.Names),
	}
	for _, root := range c.Roots {
		cs.guard.files = append(cs.guard.files, filepath.Join(root, settingsName))
	}
	return cs, nil
}

func (c *Commands) takenTo() string { return filepath.Join(c.config.State, "guarded", "taken") }

// taken is the folder for what is taken away, in which people find it again.
func (c *Commands) taken() (string, error) {
	folder := c.takenTo()
	for _, dir := range []string{c.config.State, filepath.Dir(folder), folder} {
		if err := state.EnsurePrivate(dir); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// FindShell is bash, or sh where that is absent, "" where both are. The names
// are looked for in the folders of path, then where systems have them.
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

// Shell is the shell that runs commands; "" if there is none.
func (c *Commands) Shell() string { return c.shell }

func (c *Commands) isBash() bool { return c.Language() == Bash }

// syntaxTime is how long the shell may take to check the syntax of a command.
const syntaxTime = 2 * time.Second

// Malformed reports whether the shell itself finds a syntax error in a script. It
// reads the script with -n, so that it executes nothing, and without a startup
// file or an environment. A shell that cannot be asked finds none.
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

// closeGrace is how long commands may take to end when the server does: its
// client kills it after half a second.
const closeGrace = 150 * time.Millisecond

// Close ends all commands, in the background too, and removes their temporary
// folders. It returns when what has to be done behind their end is done. Start
// fails from then on.
func (c *Commands) Close() error {
	c.ending.Do(func() {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		err := errors.Join(c.runner.Close(closeGrace), c.free.Close(closeGrace))
		if err == nil { // else some do not end
			c.active.Wait()
		}
		c.guard.close()
		c.trying.Lock()
		if r := c.report; r != nil && !exists(c.knownFile()) {
			c.remember(r.ReadOnly) // the state folder was made since
		}
		c.trying.Unlock()
		c.ended = errors.Join(err, c.output.Close(), c.temp.close())
	})
	return c.ended
}

// enter counts a command that Close has to wait for.
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

// policy returns what a command may touch beside caches; temp is its folder for
// temporary files. Below what it is granted, secrets are hidden too.
func (c *Commands) policy(readOnly bool, temp string, granted ...string) sandbox.Policy {
	hidden := append([]string{c.config.State, c.temp.base()}, c.config.Closed...)
	links := sandbox.NewResolver()
	programs := slices.Concat(c.programs(), c.programFolders(links))
	read, hide := sandbox.Readable(c.config.Home, slices.Concat(c.writable, programs, c.config.AllowRead, granted), hidden...)
	p := sandbox.Policy{
		ReadOnly: readOnly, Read: read, Hide: without(hide, c.temp.base()), TempDir: temp,
		Network: !c.config.Offline && !readOnly, FileRights: os.Geteuid() == 0, Outside: sandbox.Here(),
	}
	p.Read = append(p.Read, c.config.AllowRead...)
	for _, path := range slices.Concat(c.config.AllowRead, c.config.AllowWrite) {
		if holding(resolved(path), hidden) == "" {
			p.Hide = uncover(p.Hide, resolved(path))
		}
	}
	p.Write = append(p.Write, c.writable...)
	for _, folder := range programs {
		if real := cmp.Or(links.Real(folder), folder); real != "/" && !c.writes(folder, real) && !holdsAny(real, hide) {
			p.Read = append(p.Read, folder)
		}
	}
	return p
}

// holdsAny reports whether one of some paths is in a folder.
func holdsAny(folder string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return inside(p, folder) })
}

// inside reports whether a clean path is a folder or in it.
func inside(path, folder string) bool {
	if onWindows {
		rel, err := filepath.Rel(folder, path) // in any case of letters
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

// programs are the folders of PATH: what a user runs, commands may.
func (c *Commands) programs() []string {
	var out []string
	for _, folder := range filepath.SplitList(c.variable("PATH")) {
		if filepath.IsAbs(folder) && filepath.Clean(folder) != "/" {
			out = append(out, filepath.Clean(folder))
		}
	}
	return out
}
