package assembly

import (
	"context"
	"net"
	"path/filepath"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/settings"
	"mcp-toolset/lsp"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
)

// languageServers makes the manager of language servers, which start in the sandbox of
// commands, with access of their own. It starts nothing.
func (p *Plan) languageServers(commands *command.Commands, access func(session.View) tools.CommandAccess) *lsp.Manager {
	return lsp.New(lsp.Config{
		Servers: p.Settings.LanguageServers(), Roots: p.allRoots(), Trusted: p.trusted, Find: commands.FindProgram, Log: p.Log,
		Start: func(ctx context.Context, l lsp.Launch) (lsp.Process, error) {
			v := session.View{ID: l.Name, Dir: l.Root, Roots: p.allRoots(), Worktree: l.In.Worktree}
			var at *command.Workspace
			if w := v.Worktree; w != nil {
				v.Roots = l.In.Roots
				at = &command.Workspace{Roots: v.Roots, Folder: w.Folder, Main: w.Main} // without Common: it does not commit
			}
			own := access(v)
			paths, err := own.RestrictedPaths(ctx)
			if err != nil {
				return lsp.Process{}, err
			}
			unreached := func() []string { return nil }
			s, err := commands.StartServer(ctx, command.ServerSpec{
				Args: l.Args, Dir: l.Dir, Env: l.Env, Read: l.Read, Owner: l.Name, Workspace: at, Hide: paths.Hidden, Protect: paths.Unchanged, Names: paths.Names,
				Proxy: func(to net.Listener, local command.Local) (stop func() []string) {
					facts, stopped := bash.Serve(own.Connections, p.options.Getenv, to, local)
					unreached = facts
					return func() []string { stopped(); return nil }
				},
			})
			if err != nil {
				return lsp.Process{}, err
			}
			if !s.Contained() {
				paths.Hidden = nil // it can read them
			}
			return lsp.Process{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Control: s, Hidden: paths.Hidden, Unreached: unreached}, nil
		},
	})
}

// trusted reports whether the user trusts the settings of the project in a root. A project
// without settings, or with none that need trust, cannot be trusted.
func (p *Plan) trusted(root string) bool {
	for _, l := range p.found().Layers {
		if l.Name == settings.Project && l.Trusted && l.Settings != nil && len(l.Settings.Loosens()) > 0 && filepath.Dir(filepath.Dir(l.Path)) == root {
			return true
		}
	}
	return false
}

// LanguageServers returns the memory of the language servers that run by their names, in
// bytes.
func (p *Plan) LanguageServers() map[string]int64 {
	memory := map[string]int64{}
	for _, s := range p.servers.Running() {
		memory[s.Name] += s.Memory
	}
	return memory
}
