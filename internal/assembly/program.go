package assembly

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"mcp-toolset/internal/exec/agent"
	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
)

// programText describes an agent that is a program.
func programText(a settings.AgentProgram) string {
	return "the program " + plain.Line(filepath.Base(a.Command[0])) + ", with tools of its own"
}

// launcher returns the function that starts the programs of agents: in the sandbox of commands and
// with their network, unless the settings say otherwise.
func (p *Plan) launcher(commands *command.Commands, access func(session.View) tools.CommandAccess) func(context.Context, *agent.Program, session.View, tools.Connections) (*agent.Process, error) {
	return func(ctx context.Context, a *agent.Program, v session.View, network tools.Connections) (*agent.Process, error) {
		args := slices.Clone(a.Command)
		if !filepath.IsAbs(args[0]) {
			found, err := commands.FindProgram(args[0])
			if err != nil {
				return nil, &tools.Fault{
					Fact: fmt.Sprintf("there is no program %s: %v", plain.Line(args[0]), err),
					Next: "Ask the user to install it, or to write its path in agents of the settings.",
				}
			}
			args[0] = found
		}
		read := []string{filepath.Dir(args[0])}
		if real, err := filepath.EvalSymlinks(args[0]); err == nil {
			read = append(read, filepath.Dir(real))
		}
		restricted, err := access(v).RestrictedPaths(ctx)
		if err != nil {
			return nil, err
		}
		s, err := commands.StartServer(ctx, command.ServerSpec{
			Args: args, Dir: v.Dir, Read: read, Owner: "agent " + v.Principal + "/" + v.ID, Workspace: bash.WorkspaceOf(v), Uncontained: a.Uncontained, Watched: true,
			Hide: restricted.Hidden, Protect: restricted.Unchanged, Names: restricted.Names,
			Proxy: func(to net.Listener, local command.Local) (stop func() []string) {
				_, stopped := bash.Serve(network, p.options.Getenv, to, local)
				return func() []string { stopped(); return nil }
			},
		})
		if err != nil {
			return nil, err
		}
		return &agent.Process{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Control: s}, nil
	}
}
