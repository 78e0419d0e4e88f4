package bash

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// parts returns the command in the form that the policy judges. With harmless, the
// kernel prevents changes by the call. Without env, git in it is not planned.
func (j *judged) parts(env *tools.Env, c *command.Commands, text string, harmless bool) *tools.Parts {
	if j == nil {
		return &tools.Parts{Text: text, Unresolved: errNoJudgement.Error()}
	}
	readable, writable := c.Beyond()
	var scratch []string
	if runtime.GOOS != "windows" && c.Uncontained(context.Background()) != nil {
		scratch = []string{"/tmp", "/var/tmp"}
	}
	secrets := c.PassesSecrets()
	p := partsOf{&tools.Parts{Text: text, Unresolved: j.Unresolved, Incomplete: j.Incomplete, Readable: readable, Writable: writable, Scratch: scratch, Harmless: harmless}}
	// A command in the sandbox can end no other process than its own.
	own := c.Uncontained(context.Background()) == nil && !j.signals()
	edits := 0
	p.Edits = j.distrust == ""
	commands := c
	for i := range j.Analysis.Commands {
		c := &j.Analysis.Commands[i]
		part := policy.Part{
			Text: c.Text, Name: c.DenyText(), Allowable: c.Allowable, Repeated: c.Repeated, Inner: c.Inner,
			ReadOnly: harmless || c.ReadOnly && j.distrust == "",
			Reads:    c.Reads && j.distrust == "", Local: c.Local(), Outputs: c.Outputs, Edits: c.Edits(),
			KnownPrefix: c.KnownPrefix, UnknownWrites: c.UnknownWrites, Possible: c.Possible,
			Risk: shows(c, secrets),
		}
		if part.Risk != "" {
			p.Edits = false
		} else if !harmless && !(own && slices.Contains(ending, c.Name)) {
			part.Risk = c.Destructive()
			part.Destroys = part.Risk != "" && c.DestroysFiles()
			if part.Risk == "" {
				part.Publishes = c.Publishes()
			}
		}
		for _, f := range c.Forms {
			part.Forms = append(part.Forms, policy.Form{Text: f.Text, KnownPrefix: f.KnownPrefix})
		}
		p.List = append(p.List, part)
		if part.Edits {
			edits++
		} else if !c.ReadOnly || c.Inner {
			p.Edits = false
		}
	}
	p.Edits = p.Edits && edits > 0
	p.name(j.Reads, policy.Read, j.dir)
	p.name(j.Writes, policy.Edit, j.dir)
	if env != nil && !harmless {
		p.planGit(env, commands, j)
	}
	p.Edits = p.Edits && !j.removesRoot() && runtime.GOOS != "windows" // roots are spelled differently there
	return p.Parts
}

// shows returns why a command may show data that it should not, as a clause; "" if no
// reason is known. The environment of commands holds no secrets unless the settings
// pass one on, which secrets reports.
func shows(c *shellsafe.Command, secrets bool) string {
	switch {
	case c.ShowsOthersEnvironment():
		return "it shows the environment of other processes, which may hold secrets"
	case secrets && c.PrintsEnvironment():
		return "it shows or uses variables of the environment, and the settings (env.pass) pass on one that looks like a secret"
	case c.ShowsCredentials():
		return "it names a file that may hold credentials"
	case c.OtherHome():
		return "it names the home folder of another user"
	case c.Follows():
		return "it goes where links lead, also out of the workspace"
	}
	return ""
}

// removesRoot reports whether the command removes or moves a whole root, and with it the
// protected names in it.
func (j *judged) removesRoot() bool {
	return slices.ContainsFunc(j.Writes, func(n shellsafe.Path) bool {
		text := n.Text
		if !filepath.IsAbs(text) {
			text = filepath.Join(n.Dir, text)
		}
		return n.Below && slices.ContainsFunc(j.roots, func(root string) bool {
			ok, err := filepath.Match(n.Pattern, root)
			return filepath.Clean(text) == root || n.Glob && (ok || err != nil || !filepath.IsAbs(n.Pattern) && strings.Contains(n.Pattern, ".."))
		})
	})
}

// partsOf adds methods to Parts that fill it in.
type partsOf struct{ *tools.Parts }

// named returns an operand as an absolute path, or as a pattern of one, if its folder
// is known. A path whose folder is not known stays relative. It returns "" for an
// operand that names no file.
func named(n shellsafe.Path) string {
	text := n.Text
	if n.Glob {
		text = n.Pattern
	}
	if text == "-" || text == "" {
		return ""
	}
	if runtime.GOOS == "windows" {
		if _, ok := windowsPath(text); ok && !strings.HasPrefix(text, "/") && !filepath.IsAbs(text) {
			if n.Dir == "" {
				return text // relative, which makes the command unresolved
			}
			text = n.Dir + "/" + text
		}
		text, _ = windowsPath(text) // an unknown path is reported in Unresolved
		return text
	}
	if !filepath.IsAbs(text) && n.Dir != "" {
		text = escaped(n.Dir, n.Glob) + "/" + text
	}
	return text
}

// name adds the files that the command names to Paths. Files that are known only when
// the command runs are left to the sandbox. dir must be canonical.
func (p partsOf) name(paths []shellsafe.Path, access policy.Access, dir string) {
	for _, n := range paths {
		text := named(n)
		if text == "" {
			continue
		}
		if n.Dynamic && !n.Glob || !filepath.IsAbs(text) || strings.ContainsRune(text, 0) {
			p.Edits = false
			if runtime.GOOS == "windows" && p.Unresolved == "" {
				p.Unresolved = "a path in it is not known on Windows before it runs"
			}
			continue
		}
		if n.Glob && strings.Contains(text+"/", "/../") {
			// The search for matches of a pattern removes .. from its text.
			up := strings.TrimLeft(n.Pattern, "./")
			if n.Dir != dir || filepath.IsAbs(n.Pattern) || strings.Contains("/"+up+"/", "/../") {
				p.Edits = false
				if p.Unresolved == "" {
					p.Unresolved = "a pattern stands behind .., which may leave a link"
				}
				continue
			}
			text = filepath.Join(escaped(dir, true), n.Pattern)
		}
		path := tools.NamedPath{Path: text, Access: access, Glob: n.Glob, Input: n.Input, Uncertain: n.Uncertain, Place: n.Place}
		if !filepath.IsAbs(n.Text) && n.Dir != dir {
			path.Dir = n.Dir
		}
		p.Paths = append(p.Paths, path)
	}
}

// escaped returns dir for use at the beginning of a pattern, or unchanged if pattern is
// false.
func escaped(dir string, pattern bool) string {
	if !pattern {
		return dir
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
