package tools

import "mcp-toolset/policy"

// Parts holds the parts of a call, as far as the tool knows them without access to files.
type Parts struct {
	Text string // the whole call as written, for the user who decides on it
	List []policy.Part
	// Unresolved is the reason why List may be incomplete; "" if it is complete.
	Unresolved string
	Incomplete string // as policy.Parts.Incomplete
	Unnamed    string // as policy.Parts.Unnamed
	Paths      []NamedPath
	// Readable and Writable list folders outside of the roots in which files may be used
	// without asking. The paths are absolute; links are not resolved.
	Readable, Writable []string
	Scratch            []string // as policy.Parts.Scratch; links are not resolved
	// Edits reports whether the call only creates, removes or moves Paths.
	Edits bool
	// Harmless reports whether the kernel prevents the call from changing anything.
	Harmless bool
}

// NamedPath is a file that a part of a call names.
type NamedPath struct {
	Path   string // absolute; not cleaned, since ".." after a link leaves the link's target
	Access policy.Access
	Glob   bool   // Path is a shell pattern for the files it matches
	Input  bool   // a redirect reads it
	By     string // the program that changes it although the call does not name it; "": the call does
	// Place is true for a folder in which a program works. It is Uncertain. If it is absent, no
	// program works there.
	Place bool
	// Dir is the folder that the command has changed to and that the path is relative to; "" if
	// there is none.
	Dir string
	// Uncertain is true if a program gets the path and may write to it.
	Uncertain bool
}
