package policy

import (
	"slices"
	"strings"
)

// protectedNames are files and folders by which programs run something or are
// told whom to trust: what is changed there does more than it seems to. No mode
// lets a call change them unasked, and of the rules only one that names them.
var protectedNames = []string{
	".git", ".gitattributes", ".gitconfig", ".gitmodules", ".vscode", ".idea", ".husky", ".claude", ".mcp-toolset", ".mcp.json",
	".envrc", ".npmrc", ".ripgreprc", ".ssh",
	".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".inputrc",
}

// protected is the first protected name in a path, "" if there is none. Upper
// and lower case are one, as on some file systems.
func protected(names []string) string {
	for _, name := range names {
		if len(name) > 1 && name[0] == '.' && isProtected(name) {
			return name
		}
	}
	return ""
}

// Protected are the protected names: see protectedNames.
func Protected() []string { return slices.Clone(protectedNames) }

func isProtected(name string) bool {
	return slices.ContainsFunc(protectedNames, func(p string) bool { return strings.EqualFold(p, name) })
}

// namesProtected reports whether a pattern has a protected name in it. The root
// of the settings file is not the pattern's.
func namesProtected(p *pathPattern) bool {
	return slices.ContainsFunc(p.segments[p.bound:], func(s segment) bool { return s.kind == exact && isProtected(s.head) })
}
