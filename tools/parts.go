package tools

import "mcp-toolset/policy"

// Parts are what a call consists of, as far as the tool knows without looking at
// files.
type Parts struct {
	Text string // the whole, as it was written: what a person agrees to
	List []policy.Part
	// Unresolved is why List may not have all; "" if it has.
	Unresolved string
	Doubtful   string // as policy.Parts.Doubtful
	Unnamed    string // as policy.Parts.Unnamed
	Paths      []NamedPath
	// Readable and Writable are folders beyond the roots in which files may be
	// named unasked: absolute, links not followed.
	Readable, Writable []string
	// Edits says that the call does nothing but make, remove or move Paths.
	Edits bool
	// Harmless says that the kernel keeps the call from changing anything.
	Harmless bool
}

// NamedPath is a file that a part of a call names.
type NamedPath struct {
	Path   string // absolute; not cleaned, since .. leaves the folder that a link leads to
	Access policy.Access
	Glob   bool // Path is a pattern of the shell: what it matches is meant
	Input  bool // a redirect reads it
}
