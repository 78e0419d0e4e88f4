package assembly

import (
	"context"
	"path/filepath"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/settings"
	"mcp-toolset/lsp"
)

// languageServers makes the manager of language servers, which start in the sandbox of
// commands. It starts nothing.
func (p *Plan) languageServers(commands *command.Commands) *lsp.Manager {
	return lsp.New(lsp.Config{
		Servers: p.Settings.LanguageServers(), Roots: p.allRoots(), Trusted: p.trusted, Find: commands.FindProgram, Log: p.Log,
		Start: func(ctx context.Context, l lsp.Launch) (lsp.Process, error) {
			s, err := commands.StartServer(ctx, command.ServerSpec{Args: l.Args, Dir: l.Dir, Env: l.Env, Read: l.Read, Hide: l.Hide, Owner: l.Name})
			if err != nil {
				return lsp.Process{}, err
			}
			return lsp.Process{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Control: s}, nil
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
