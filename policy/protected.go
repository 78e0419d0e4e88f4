package policy

import (
	"slices"
	"strings"
)

// protectedNames lists files and folders by which a program runs something, or
// learns whom to trust, when its user only opens a folder, enters it, or asks
// for something harmless such as a version. No mode lets a call change them
// unasked, and of the rules only one that names them does. Not in the list is
// what runs because its user asks for that: Makefile, package.json, the
// configuration of tests, linters and pre-commit. Neither are instructions to
// models, such as AGENTS.md: an agent reads them and asks before it runs
// something. A name with slashes is protected below the folder that it names.
var protectedNames = []string{
	// Version control.
	".git", ".gitattributes", ".gitconfig", ".gitmodules", ".hg/hgrc", ".hg/hgrc-not-shared", ".jj/repo/config.toml", ".husky",
	// Editors.
	".vscode", ".vs", ".idea", ".fleet", ".zed", ".helix", ".devcontainer", ".devcontainer.json",
	".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".dir-locals-2.el",
	// Agents.
	".mcp-toolset", ".mcp.json", ".claude", ".cursor", ".windsurf", ".gemini", ".codex", ".kiro", ".continue", ".roo", ".cline", ".kilocode",
	".amazonq", ".junie", ".augment", ".trae", ".goose", ".qwen", ".factory", ".openhands", ".crush", ".crush.json", "crush.json",
	".opencode", "opencode.json", "opencode.jsonc", ".aider.conf.yml",
	// Package managers, by which the one that runs or what it loads is chosen.
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnpmfile.mjs", ".cargo/config", ".cargo/config.toml",
	// Shells, debuggers and interpreters, which read them where they start.
	".envrc", "mise.toml", ".mise.toml", ".mise", ".ripgreprc", ".ssh",
	".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".inputrc",
	".gdbinit", ".lldbinit", ".pdbrc", ".Rprofile", ".irbrc", ".pryrc", ".iex.exs", ".erlang", ".ghci", ".ocamlinit", ".octaverc",
}

// protectedParts holds protectedNames by the last of their names, in lower case,
// with all of them.
var protectedParts = func() map[string][][]string {
	out := map[string][][]string{}
	for _, p := range protectedNames {
		parts := strings.Split(folded(p), "/")
		last := parts[len(parts)-1]
		out[last] = append(out[last], parts)
	}
	return out
}()

// folded returns a name in lower case. Of the letters in protected names, k and s
// have a third form.
func folded(name string) string { return strings.ReplaceAll(strings.ToLower(name), "\u017f", "s") }

// protected returns the first protected name in a path, "" if there is none.
// Upper and lower case are one, as on some file systems.
func protected(names []string) string {
	for i, name := range names {
		for _, parts := range protectedParts[folded(name)] {
			from := i + 1 - len(parts)
			if from >= 0 && slices.EqualFunc(names[from:i+1], parts, strings.EqualFold) {
				return strings.Join(names[from:i+1], "/")
			}
		}
	}
	return ""
}

// Protected returns the protected names: see protectedNames.
func Protected() []string { return slices.Clone(protectedNames) }

// namesProtected reports whether a pattern has a protected name in it. The root
// of the settings file is not the pattern's.
func namesProtected(p *pathPattern) bool { return protected(p.exactNames()) != "" }

// exactNames returns the names of a pattern, "" for one with a wildcard.
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

// Unopened returns the protected names that no allow rule on changes names.
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
