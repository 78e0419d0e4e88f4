package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/sandbox"
)

// ServerSpec describes a program that talks over its standard input and output for longer
// than one call, such as a language server. Paths are absolute.
type ServerSpec struct {
	Args  []string // the first is the path of the program
	Dir   string
	Env   []string // overrides variables that commands inherit
	Read  []string // further folders that the program reads: those of its installation
	Hide  []string // further paths that it must not read
	Owner string   // owner of its folder for temporary files; no other server has it
}

// Server is a program that StartServer started.
type Server struct {
	Stdin          *os.File // the caller closes all three
	Stdout, Stderr *os.File

	process *process.Process
	layer   io.Closer
}

// StartServer starts a program in the sandbox of a command, with two differences: it has no
// network, and the workspace is read-only, since questions to a language server must not
// change files. Caches of toolchains are writable, as for a command. Where the sandbox is
// off or does not work, the program is not confined, as a command is not. Its process tree
// ends with the program, with End, and with Close. The context applies only to the start.
func (c *Commands) StartServer(ctx context.Context, s ServerSpec) (*Server, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	server, err := c.startServer(ctx, s)
	if err != nil {
		c.active.Done()
		return nil, err
	}
	go func() {
		defer c.active.Done()
		<-server.process.Done()
		if server.layer != nil {
			_ = server.layer.Close()
		}
		c.temp.forget(s.Owner)
	}()
	return server, nil
}

func (c *Commands) startServer(ctx context.Context, s ServerSpec) (_ *Server, err error) {
	confined, err := c.confines(ctx, Spec{})
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
	server := &Server{}
	spec := process.Spec{Args: s.Args, Dir: s.Dir, Env: lastOfEach(append(c.environment(s.Dir, temp), s.Env...))}
	if confined {
		spec.Env = c.withGitSettings(spec.Env, temp)
		p, covered := c.serverPolicy(s, temp), c.Report(ctx).Write.Coverage
		server.layer = c.grantCaches(&p, covered.Layers)
		spec.Confine = encode(confinement{Policy: p, Landlock: covered.Landlock, Seccomp: covered.Seccomp, Mounts: covered.Mounts})
	}
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
		if server.layer != nil {
			_ = server.layer.Close()
		}
		c.temp.forget(s.Owner)
	}()
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
	server.process, err = c.runner.Start(ctx, spec)
	theirs = [3]*os.File{} // Start closed them
	return server, err
}

// serverPolicy returns the policy of a server, without caches.
func (c *Commands) serverPolicy(s ServerSpec, temp string) sandbox.Policy {
	p := c.policy(false, temp)
	p.Network = false
	p.Read = append(p.Read, p.Write...)
	p.Write = nil
	p.Hide = append(p.Hide, s.Hide...)
	for _, folder := range s.Read {
		if real := resolved(folder); real != "/" && !holdsAny(real, p.Hide) && !c.writes(folder, real) {
			p.Read = append(p.Read, real)
		}
	}
	return p
}

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
