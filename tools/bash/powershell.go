package bash

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/powershell"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

//go:embed prompt_powershell.md
var promptPowerShell string

// Reasons why one of the tools is disabled.
var (
	errPowerShell = errors.New("the shell of this server is PowerShell: use the tool PowerShell if it is listed, or ask the user to install bash")
	errPosix      = errors.New("the shell of this server is not PowerShell: use the tool Bash")
)

// newPowerShell returns the tool that replaces Bash where the shell is PowerShell. Its
// commands are not confined and none is known to only read, so each needs approval
// unless a rule allows it.
func newPowerShell(o Options) *tools.Tool {
	const name = "PowerShell"
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:          name,
		Title:         "Run a PowerShell command",
		Prompt:        promptPowerShell,
		SearchHint:    "run execute shell command terminal powershell windows git build test",
		Description:   func(in prepared) string { return describe(in.Command, in.Description) },
		View:          tools.ViewOutput,
		Summary:       func(_ prepared, r tools.Result[Output]) string { return summary(r) },
		Loading:       tools.LoadAlways,
		MaxResultSize: max(tools.DefaultResultSize, o.MaxOutput+notesReserve),
		Excerpt:       tools.ExcerptTail,
		Cascades:      true,
		IsDestructive: tools.Always[prepared](),
		IsOpenWorld:   tools.Always[prepared](),
		IsEnabled: func() error {
			if err := checkShell(o.Commands); err != nil || o.Commands.Language() == command.PowerShell {
				return err
			}
			return errPosix
		},
		Prepare: func(env *tools.Env, in Input) (prepared, error) {
			if strings.ContainsRune(in.Command, 0) {
				return prepared{}, &tools.Fault{Fact: "the command has a NUL character, which no shell can take", Next: "Leave it out, or write it as [char]0."}
			}
			return prepared{in, judgePowerShell(env, in.Command)}, in.validate(o, name, nil)
		},
		Parts: func(env *tools.Env, in prepared) *tools.Parts { return in.judged.powerShellParts(in.Command, env.Home) },
		Check: func(_ *tools.Env, in prepared) *policy.Decision {
			if in.DisableSandbox {
				return unsandboxed(o.Commands)
			}
			return askPowerShell(in.judged)
		},
		ClassifierInput: func(in prepared) string { return in.Command },
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			return in.call(o, env, name).run(ctx)
		},
		Render: render,
	})
}

// judgePowerShell analyses a command as it would run in the session.
func judgePowerShell(env *tools.Env, text string) *judged {
	c := powershell.Analyse(text)
	return &judged{dir: env.Session.Dir, roots: env.Session.Roots, Analysis: &shellsafe.Analysis{}, powerShell: &c}
}

// askPowerShell returns the decision to ask about a command. An allow rule that covers
// the command takes precedence.
func askPowerShell(j *judged) *policy.Decision {
	d := &policy.Decision{
		Behavior: policy.Ask,
		Reason:   "PowerShell commands are not contained and each may change something",
		Next:     "ask the user to allow it",
	}
	if j == nil || j.powerShell == nil || !j.powerShell.Simple {
		d.Reason += ", and no rule can allow this one by its text, since it is not one command of literal words"
		return d
	}
	rule := "PowerShell(" + j.powerShell.Text("") + ")"
	if rule == plain.Line(rule) && len(rule) <= 200 {
		d.Next += ", for good by a rule such as " + rule + " in the settings"
	}
	return d
}

// powerShellParts returns a command in the form that the policy judges: one part. A
// rule may allow the part only if it is a simple command. Deny and ask rules are
// matched against every text in it that may be a command.
func (j *judged) powerShellParts(text, home string) *tools.Parts {
	if j == nil || j.powerShell == nil {
		return &tools.Parts{Text: text, Unresolved: errNoJudgement.Error()}
	}
	c := j.powerShell
	part := policy.Part{Text: c.Text(text), Allowable: c.Simple, Caseless: true}
	part.Name = part.Text
	for _, form := range c.Forms {
		part.Forms = append(part.Forms, policy.Form{Text: form})
	}
	p := &tools.Parts{Text: text, Incomplete: c.Incomplete, Unnamed: c.Unnamed}
	for _, words := range c.Programs {
		forms, doubt := programForms(words)
		part.Forms = append(part.Forms, forms...)
		if p.Incomplete == "" {
			p.Incomplete = doubt
		}
	}
	p.List = []policy.Part{part}
	access := policy.Edit
	if c.Simple && readers[strings.ToLower(c.Words[0])] {
		access = policy.Read
	}
	for _, word := range c.Named {
		for _, path := range operands(word, j.dir, home) {
			p.Paths = append(p.Paths, tools.NamedPath{Path: path, Access: access})
		}
	}
	return p
}

// programForms returns the texts of a program call that deny and ask rules for Bash are
// matched against: without flags before a subcommand, with synonyms, and with the
// programs that it runs. doubt is the reason why the forms may be incomplete; "" if
// they are complete.
func programForms(words []string) (forms []policy.Form, doubt string) {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	a := shellsafe.Analyse(strings.Join(quoted, " "), shellsafe.Options{})
	for i := range a.Commands {
		c := &a.Commands[i]
		forms = append(forms, policy.Form{Text: c.DenyText(), KnownPrefix: c.KnownPrefix})
		for _, f := range c.Forms {
			forms = append(forms, policy.Form{Text: f.Text, KnownPrefix: f.KnownPrefix})
		}
	}
	return forms, cmp.Or(a.Unresolved, a.Incomplete)
}

// readers lists commands that only read the files that they name.
var readers = func() map[string]bool {
	out := map[string]bool{}
	for name := range strings.FieldsSeq("get-content gc cat type select-string sls get-childitem gci ls dir get-item gi test-path resolve-path get-filehash import-csv") {
		out[name] = true
	}
	return out
}()

// operands returns the files that a word may name, as absolute paths: the word itself,
// the value of a parameter after = or :, the items of a list, and the path without the
// name of a provider or stream.
func operands(word, dir, home string) (paths []string) {
	items := strings.Split(word, ",")
	if len(items) > 1 {
		items = append(items, word) // a file name may contain the comma
	}
	for _, item := range items {
		texts := []string{item}
		if i := strings.IndexAny(item, "=:"); i > 0 && strings.HasPrefix(item, "-") {
			texts = []string{item[i+1:]}
		} else if i := strings.IndexByte(item, '='); i > 0 {
			texts = append(texts, item[i+1:])
		}
		for _, text := range texts {
			if i := strings.LastIndex(text, "::"); i >= 0 { // FileSystem::path
				texts = append(texts, text[i+2:])
			}
			if i := strings.IndexByte(text, ':'); i > 1 { // path:stream
				texts = append(texts, text[:i])
			}
		}
		for _, text := range texts {
			if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, "\x00") {
				continue
			}
			if rest, ok := strings.CutPrefix(text, "~"); ok && home != "" && (rest == "" || strings.ContainsAny(rest[:1], `/\`)) {
				text = home + rest
			}
			text = filepath.FromSlash(text)
			if !filepath.IsAbs(text) {
				text = filepath.Join(dir, text)
			}
			if !slices.Contains(paths, text) {
				paths = append(paths, text)
			}
		}
	}
	return paths
}
