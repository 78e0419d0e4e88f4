package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"mcp-toolset/internal/exec/process"
)

// ServerSpec describes a program that talks over its standard input and output for longer
// than one call, such as a language server. Paths are absolute.
type ServerSpec struct {
	Args  []string // the first is the path of the program
	Dir   string
	Env   []string // overrides variables that commands inherit
	Read  []string // further folders that the program reads: those of its installation
	Owner string   // owner of its network and of its folder for temporary files; no other server has it
	// Watched also watches protected names that appear while the program runs, as for a
	// command: for a program that changes the workspace and ends soon.
	Watched bool
	// The others are those of Spec.
	Uncontained          bool
	Workspace            *Workspace
	Hide, Protect, Names []string
	Proxy                func(l net.Listener, local Local) (stop func() []string)
}

// Server is a program that StartServer started.
type Server struct {
	Stdin          *os.File // the caller closes all three
	Stdout, Stderr *os.File

	enclosure
	process *process.Process
	left    chan struct{} // closed when removed is set
	removed []string
}

// StartServer starts a program in the sandbox of a command: with its write rules, and its
// network. Since nobody is asked before it starts, it has no network in the mode Ask where
// it cannot have one of its own. Where the sandbox is off or does not work, the program is not
// confined, as a command is not. Its process tree ends with the program, with End, and with
// Close. The context applies only to the start.
func (c *Commands) StartServer(ctx context.Context, s ServerSpec) (*Server, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	server, err := c.startServer(ctx, s)
	if errors.Is(err, process.ErrNetworkGone) {
		server, err = c.startServer(ctx, s) // in a new one
	}
	if err != nil {
		c.active.Done()
		return nil, err
	}
	go func() {
		defer c.active.Done()
		<-server.process.Done()
		if w, _ := server.leave(); w != nil {
			server.removed = w.removed
		}
		close(server.left)
		c.Forget(s.Owner)
	}()
	return server, nil
}

func (c *Commands) startServer(ctx context.Context, s ServerSpec) (_ *Server, err error) {
	own := Spec{Dir: s.Dir, Owner: s.Owner, Workspace: s.Workspace, Hide: s.Hide, Protect: s.Protect, Names: s.Names, Proxy: s.Proxy, installed: s.Read, Uncontained: s.Uncontained, server: true, watched: s.Watched}
	confined, err := c.confines(ctx, own)
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
	server := &Server{enclosure: enclosure{commands: c}, left: make(chan struct{})}
	var theirs [3]*os.File
	defer func() {
		if err == nil {
			return
		}
		for _, f := range append(theirs[:], server.Stdin, server.Stdout, server.Stderr) {
			if f != nil {
				_ = f.Close()
			}
		}
		server.leave()
		c.Forget(s.Owner)
	}()
	spec := process.Spec{Args: s.Args, Dir: s.Dir, Env: lastOfEach(append(c.environment(s.Dir, temp), s.Env...))}
	if c.networked(own, confined, c.Report(ctx)) {
		if server.network, err = c.attach(ctx, own); err != nil {
			return nil, err
		}
		spec.Network, spec.Env = server.network.own.Network, server.network.environment(spec.Env)
	}
	if confined {
		if !c.Report(ctx).Write.Coverage.Mounts {
			spec.Env = tempVariables(spec.Env, temp)
		}
		spec.Env = c.withGitSettings(spec.Env, temp)
		if spec.Confine, err = server.confine(own, temp, c.Report(ctx)); err != nil {
			return nil, err
		}
	}
	if theirs[0], server.Stdin, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	if server.Stdout, theirs[1], err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	if server.Stderr, theirs[2], err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	for _, f := range theirs {
		_ = f.Fd() // makes it block: see Running.start
	}
	spec.Input, spec.Output, spec.Errors = theirs[0], theirs[1], theirs[2]
	runner := c.runner
	if s.Uncontained {
		runner = c.free
	}
	server.process, err = runner.Start(ctx, spec)
	return server, err
}

// Contained reports whether the program is confined.
func (s *Server) Contained() bool { return s.policy != nil }

// Done returns a channel that is closed when the program and all processes it started have
// ended.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Exit waits for the end of the program and describes it.
func (s *Server) Exit() string {
	switch x := s.process.Wait(); {
	case x.Lost != nil:
		return x.Lost.Error()
	case x.Signal != 0:
		return "ended by signal " + x.Signal.String()
	default:
		return fmt.Sprintf("exited with code %d", x.Code)
	}
}

// Succeeded waits for the end of the program and reports whether it exited with code 0.
func (s *Server) Succeeded() bool {
	x := s.process.Wait()
	return x.Lost == nil && x.Signal == 0 && x.Code == 0
}

// Removed waits for the end of the program and returns the protected names that appeared
// meanwhile and were quarantined.
func (s *Server) Removed() []string {
	<-s.left
	return s.removed
}

// End asks the program and all processes it started to end, and kills them after grace. It
// returns when none is left.
func (s *Server) End(grace time.Duration) error { return s.process.End(grace) }

// Memory returns the resident memory of the program and of all processes it started, in
// bytes; 0 if it is unknown.
func (s *Server) Memory() int64 { return s.process.Memory() }

// errNotFound is the error of FindProgram for a program that is not installed.
var errNotFound = errors.New("it is not on PATH")

// FindProgram returns the path of a program in the folders of the user's PATH. It leaves
// out folders that commands may write to, since the program there may come from a
// repository.
func (c *Commands) FindProgram(name string) (string, error) {
	folders := c.programs()
	if len(folders) == 0 && !onWindows {
		folders = []string{"/usr/local/bin", "/usr/bin", "/bin"}
	}
	folders = slices.DeleteFunc(folders, c.inWritable)
	for _, folder := range folders {
		file, err := exec.LookPath(filepath.Join(folder, name))
		if err == nil && !c.inWritable(file) {
			return file, nil
		}
	}
	return "", errNotFound
}
