// Package skill provides the tool Skill, whose description lists the skills.
package skill

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/session"
	"mcp-toolset/skills"
	"mcp-toolset/tools"
)

// maxPrompt is the limit of the description with its list, in bytes.
const maxPrompt = 1800

// loadTime is the timeout of reading a skill, for file systems that do not answer.
const loadTime = 10 * time.Second

// Options holds the settings of the tool.
type Options struct {
	Skills *skills.Live // nil: there are none
}

// Input holds the arguments of Skill.
type Input struct {
	Skill string `json:"skill" minLength:"1" maxLength:"100" jsonschema:"Name of the skill"`
	Args  string `json:"args,omitempty" maxLength:"20000" jsonschema:"Arguments, as a user would write them after the name"`
}

// Output holds the result of Skill.
type Output struct {
	Skill string `json:"skill" jsonschema:"Name of the skill"`
	Dir   string `json:"dir" jsonschema:"Base folder of the skill"`
	Text  string `json:"text" jsonschema:"The instructions, after a head with folder and files"`
}

//go:embed prompt.md
var prompt string

// New returns the tool Skill with a list of the present skills. Without any, it is not enabled.
func New(o Options) *tools.Tool {
	set := o.Skills.Now()
	text := prompt
	if list := set.Catalogue(maxPrompt - len(prompt) - len("\nSkills:\n")); list != "\n" && list != "" {
		text += "\nSkills:\n" + list
	}
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:        "Skill",
		Feature:     "skills",
		Title:       "Load a skill",
		Prompt:      text,
		SearchHint:  "load skill instructions slash command workflow",
		Loading:     tools.LoadAlways,
		Description: func(in Input) string { return "Load the skill " + in.Skill },
		Prepare: func(_ *tools.Env, in Input) (Input, error) {
			in.Skill = skills.Name(in.Skill) // rules are on the name without a slash
			return in, nil
		},
		IsReadOnly:        tools.Always[Input](),
		IsConcurrencySafe: tools.Always[Input](),
		IsIdempotent:      tools.Always[Input](),
		IsEnabled: func() error {
			switch problems := set.Problems(); {
			case len(set.Skills) > 0:
				return nil
			case len(problems) > 0:
				return fmt.Errorf("there is no skill that can be used: %v; mcp-toolset skills lists what to correct", problems[0])
			}
			return errors.New("there is no skill; the user can put some into ~/.claude/skills, ~/.agents/skills, or .claude/skills of a trusted project (docs/skills.md)")
		},
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			return bounded.Do(ctx, loadTime, func(context.Context) (tools.Result[Output], error) { return load(env, in, o.Skills) })
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.Text}} },
	})
}

func load(env *tools.Env, in Input, live *skills.Live) (tools.Result[Output], error) {
	set := live.Now()
	k := set.Lookup(in.Skill)
	if k == nil {
		return tools.Result[Output]{}, fault.New(set.Unknown(in.Skill))
	}
	if k.UserOnly {
		return tools.Result[Output]{}, fault.New("only the user starts the skill "+k.Name+" (disable-model-invocation)", "Ask the user to start it as /"+k.Name+" in the client.")
	}
	text, err := k.Text(in.Args, project(env.Session))
	if err != nil {
		return tools.Result[Output]{}, fault.New(err.Error(), "Ask the user to look at the file; mcp-toolset skills checks it.")
	}
	live.First(env.Session.Owner(), k.Name) // it need not be announced any more
	if problems := set.Problems(); len(problems) > 0 && live.First(env.Session.Owner(), "") {
		text += fmt.Sprintf("\n\n[%s cannot be used: %v. mcp-toolset skills lists what the user can correct.]", count(len(problems)), problems[0])
	}
	return tools.Result[Output]{Data: Output{k.Name, k.Dir, text}}, nil
}

func count(n int) string {
	if n == 1 {
		return "1 other skill"
	}
	return fmt.Sprintf("%d other skills", n)
}

// project returns the folder that ${CLAUDE_PROJECT_DIR} stands for.
func project(v session.View) string {
	if len(v.Roots) == 0 {
		return v.Dir
	}
	return v.Roots[0]
}
