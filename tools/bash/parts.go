package bash

import (
	"path/filepath"
	"strings"

	"mcp-toolset/internal/command"
	"mcp-toolset/internal/shellsafe"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// parts are the command as the policy judges it, in a call whose changes the
// kernel prevents if it is harmless.
func (j *judged) parts(c *command.Commands, text string, harmless bool) *tools.Parts {
	if j == nil {
		return &tools.Parts{Text: text, Unresolved: errNoJudgement.Error()}
	}
	readable, writable := c.Beyond()
	p := partsOf{&tools.Parts{Text: text, Unresolved: j.Unresolved, Readable: readable, Writable: writable, Harmless: harmless}}
	edits := 0
	p.Edits = true
	for i := range j.Analysis.Commands {
		c := &j.Analysis.Commands[i]
		part := policy.Part{
			Text: c.Text, Name: c.DenyText(), Allowable: c.Allowable, Inner: c.Inner,
			ReadOnly: harmless || c.ReadOnly && j.distrust == "",
		}
		if !harmless {
			part.Risk = c.Destructive()
		}
		if part.Risk == "" && c.PrintsEnvironment() {
			part.Risk = "it shows variables of the environment, which may hold secrets"
		}
		p.List = append(p.List, part)
		if c.Edits() {
			edits++
		} else if !c.ReadOnly || c.Inner {
			p.Edits = false
		}
	}
	p.Edits = p.Edits && edits > 0
	p.name(j.Reads, policy.Read)
	p.name(j.Writes, policy.Edit)
	return p.Parts
}

// partsOf are Parts in the making.
type partsOf struct{ *tools.Parts }

// name adds the files that the command names. What is only known when it runs
// is left to the containment.
func (p partsOf) name(paths []shellsafe.Path, access policy.Access) {
	for _, n := range paths {
		if n.Text == "-" || n.Text == "" {
			continue
		}
		path := n.Text
		if !filepath.IsAbs(path) && n.Dir != "" {
			path = filepath.Join(n.Dir, path)
		}
		if n.Dynamic && !n.Glob || !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
			p.Edits = false
			continue
		}
		p.Paths = append(p.Paths, tools.NamedPath{Path: filepath.Clean(path), Access: access, Glob: n.Glob})
	}
}
