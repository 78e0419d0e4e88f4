package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// protectedNames lists the names of files and folders that make a program run
// something, or decide whom it trusts, when the user merely opens or enters a folder
// or asks for something harmless such as a version. No mode lets a call change them
// without asking. Of the rules, only one that contains the name does.
//
// Files that run only because the user asks for it are not in the list: Makefile,
// package.json, the configuration of tests, linters and pre-commit. Neither are
// instructions to models, such as AGENTS.md: an agent reads them and asks before it
// runs something. A name with slashes consists of a folder and names below it.
var protectedNames = []string{
	// Version control.
	".git", ".gitattributes", ".gitconfig", ".gitmodules", ".hg/hgrc", ".hg/hgrc-not-shared", ".jj/repo/config.toml", ".husky",
	// Editors.
	".vscode", ".vs", ".idea", ".fleet", ".zed", ".helix", ".devcontainer", ".devcontainer.json",
	".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".dir-locals.el", ".dir-locals-2.el",
	// Agents.
	".mcp-toolset", ".mcp.json", ".claude", ".cursor", ".windsurf", ".gemini", ".codex", ".kiro", ".continue", ".roo", ".cline", ".kilocode",
	".amazonq", ".junie", ".augment", ".trae", ".goose", ".qwen", ".factory", ".openhands", ".crush", ".crush.json", "crush.json",
	".opencode", "opencode.json", "opencode.jsonc", ".aider.conf.yml", ".agents/skills", ".github/hooks", ".clinerules/hooks", ".amp", ".rovodev",
	// Package managers: these files select the program or what it loads, and name registries that
	// commands may reach (web/registry).
	".config/go/env", ".pip/pip.conf", "pip.conf", ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnpmfile.cjs", ".pnpmfile.mjs", ".cargo/config", ".cargo/config.toml",
	// Shells, debuggers and interpreters, which read these files at the start.
	".envrc", ".autoenv", ".autoenv.zsh", ".shadowenv.d", ".config/mise.toml", ".config/mise", "mise.toml", "mise.local.toml", ".mise.toml", ".mise.local.toml", ".mise", ".ripgreprc", ".ssh",
	".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".inputrc",
	".gdbinit", ".lldbinit", ".pdbrc", ".Rprofile", ".irbrc", ".pryrc", ".iex.exs", ".erlang", ".ghci", ".ocamlinit", ".octaverc",
}

// protectedParts maps the last component of each protected name, in lower case, to all
// components of the names that end with it.
var protectedParts = func() map[string][][]string {
	out := map[string][][]string{}
	for _, p := range protectedNames {
		parts := strings.Split(folded(p), "/")
		last := parts[len(parts)-1]
		out[last] = append(out[last], parts)
	}
	return out
}()

// folded returns a name in lower case. The long s (U+017F) is equal to s under case
// folding, but ToLower does not change it.
func folded(name string) string { return strings.ReplaceAll(strings.ToLower(name), "\u017f", "s") }

// shipped lists protected names that packages are published with. They have no effect below
// node_modules, a folder of which nobody opens as a project.
var shipped = []string{".vscode", ".vs", ".idea", ".fleet", ".zed", ".devcontainer"}

// protected returns the first protected name in a path, or "" if there is none. It
// ignores case, as some file systems do. A lock of git, whose name ends in .lock, is not protected:
// git never reads one.
func protected(names []string) string {
	for i, name := range names {
		for _, parts := range protectedParts[folded(name)] {
			from := i + 1 - len(parts)
			lock := parts[0] == ".git" && i+1 < len(names) && strings.HasSuffix(names[len(names)-1], ".lock")
			if lock || from > 0 && slices.Contains(shipped, name) && slices.Contains(names[:from], "node_modules") {
				continue
			}
			if from >= 0 && slices.EqualFunc(names[from:i+1], parts, strings.EqualFold) {
				return strings.Join(names[from:i+1], "/")
			}
		}
	}
	return ""
}

// program returns the name below its root of what git's configuration makes git run and that is
// file or holds it; "" if nothing does.
func (p *Policy) program(file string) string {
	root := within(p.roots, file)
	if p.programs == nil || root == "" {
		return ""
	}
	at := p.programs.Program(file, root)
	if at == "" {
		return ""
	}
	name, err := filepath.Rel(root, at)
	if err != nil {
		return filepath.Base(at)
	}
	return filepath.ToSlash(name)
}

// Programs returns what git's configuration makes git run, of the repositories at some roots.
func (p *Policy) Programs(roots []string) (out []string) {
	if p.programs == nil {
		return nil
	}
	for _, root := range roots {
		out = append(out, p.programs.Below(root)...)
	}
	return out
}

// Protected returns the protected names. The caller owns the slice.
func Protected() []string { return slices.Clone(protectedNames) }

// namesProtected reports whether a pattern contains a protected name. The root of the
// settings file is not part of the pattern.
func namesProtected(p *pathPattern) bool { return protected(p.exactNames()) != "" }

// opener returns what reports whether a pattern contains the protected name that the call would
// change: any of the list, or the last part of a name in git's configuration.
func (c *call) opener() func(*pathPattern) bool {
	name := c.p.program(c.real.path)
	if name == "" || protected(c.belowRoot(&c.real)) != "" || protected(c.belowRoot(&c.literal)) != "" {
		return namesProtected
	}
	return func(p *pathPattern) bool { return slices.Contains(p.exactNames(), path.Base(name)) }
}

// exactNames returns the names of a pattern, with "" for each that has a wildcard.
func (p *pathPattern) exactNames() []string {
	var out []string
	for _, s := range p.segments[p.bound:] {
		if s.kind == exact {
			out = append(out, s.head)
		} else {
			out = append(out, "")
		}
	}
	return out
}

// Unopened returns the protected names that no Edit allow rule contains.
func (p *Policy) Unopened() []string {
	opened := map[string]bool{}
	p.lists[Allow].paths[Edit].each(func(r *rule) {
		if r.broken != nil {
			return
		}
		for names := r.path.exactNames(); len(names) > 0; names = names[1:] {
			for n := range names {
				opened[folded(protected(names[:n+1]))] = true
			}
		}
	})
	return slices.DeleteFunc(Protected(), func(name string) bool { return opened[folded(name)] })
}
