package assembly

import (
	"context"
	"net"
	"path/filepath"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/settings"
	"mcp-toolset/lsp"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
)

// languageServers makes the manager of language servers, which start in the sandbox of
// commands, with access of their own. It starts nothing.
func (p *Plan) languageServers(commands *command.Commands, access func(name, dir string) tools.CommandAccess) *lsp.Manager {
	return lsp.New(lsp.Config{
		Servers: p.Settings.LanguageServers(), Roots: p.allRoots(), Trusted: p.trusted, Find: commands.FindProgram, Log: p.Log,
		Start: func(ctx context.Context, l lsp.Launch) (lsp.Process, error) {
			own := access(l.Name, l.Root)
			kept, err := own.RestrictedPaths(ctx)
			if err != nil {
				return lsp.Process{}, err
			}
			unreached := func() []string { return nil }
			s, err := commands.StartServer(ctx, command.ServerSpec{
				Args: l.Args, Dir: l.Dir, Env: l.Env, Read: l.Read, Owner: l.Name, Hide: kept.Hidden, Protect: kept.Unchanged, Names: kept.Names,
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
				kept.Hidden = nil // it could read them
			}
			return lsp.Process{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Control: s, Hidden: kept.Hidden, Unreached: unreached}, nil
		},
	})
}

// trusted reports whether the user trusts the settings of the project in a root. A project
// without settings, or with none that need trust, cannot be trusted.
func (p *Plan) trusted(root string) bool {
	for _, l := range p.Found.Layers {
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
