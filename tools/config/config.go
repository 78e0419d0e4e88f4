// Package config provides the tool Config, which shows the settings of the server and where they
// come from.
package config

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Setting is a setting of the server: a key of the settings files, a flag such as --mode, or
// an environment variable.
type Setting struct {
	Name    string
	Meaning string
	Default string  // "" if there is none
	Values  []Value // those that hold; empty if the default does
	Unused  []Value // those without effect
	Change  string  // a sentence on how the user changes it
}

// Value is a value of a setting. Secrets are not in it.
type Value struct {
	Text   string // "" if it is not shown
	Source string // such as FILE:LINE or "flag"
	Why    string // why it has no effect; "" if it has one
}

// File is a settings file.
type File struct {
	Label string // unique, such as "user"
	Path  string // as in the sources of values
	State string // how much of it holds
}

// Options holds what the tool shows.
type Options struct {
	Files    []File // the most authoritative first
	Settings []Setting

	// Current returns what to show now, in place of the other fields. It may be nil.
	Current func() Options
}

// FromFlag is the source of a value that a flag sets.
const FromFlag = "flag"

// Input holds the arguments of Config.
type Input struct {
	Setting string `json:"setting,omitempty" jsonschema:"Name of one setting"`
}

// Output holds the text for the model.
type Output struct {
	Text string `json:"text" jsonschema:"The settings, their sources, and how the user changes them"`
}

//go:embed prompt.md
var prompt string

// New returns the tool Config.
func New(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:       "Config",
		Title:      "Show settings",
		Prompt:     prompt,
		Loading:    tools.LoadDeferred,
		SearchHint: "show config settings flags values sources mode",
		Description: func(in Input) string {
			if in.Setting == "" {
				return "Show the settings"
			}
			return "Show the setting " + plain.Line(in.Setting)
		},
		IsReadOnly:        tools.Always[Input](),
		IsConcurrencySafe: tools.Always[Input](),
		IsIdempotent:      tools.Always[Input](),
		Call: func(_ context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			text, err := o.text(in.Setting, env.Session)
			return tools.Result[Output]{Data: Output{text}, Private: true}, err
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.Text}} },
	})
}

// text describes one setting, those below a name, or all.
func (o Options) text(name string, v session.View) (string, error) {
	if o.Current != nil {
		o = o.Current()
	}
	note := ""
	switch {
	case v.Planning:
		note = "This session is in plan mode, whatever the setting of the mode is: only read-only calls run until the user accepts a plan (ExitPlanMode).\n"
	case v.AcceptEdits:
		note = "In this session the user has accepted edits with a plan: where the setting of the mode is default, acceptEdits holds.\n"
	}
	if name = strings.TrimSpace(name); name == "" {
		return note + o.overview(), nil
	}
	is := func(s Setting) bool { return bare(s.Name) == bare(name) }
	if i := slices.IndexFunc(o.Settings, is); i >= 0 {
		if bare(name) != "mode" && name != "permissions.defaultMode" {
			note = ""
		}
		more := ""
		if names := o.below(name); len(names) > 0 {
			more = "\nSee also " + cut(strings.Join(names, ", "), 300)
		}
		return note + o.Settings[i].details(maxText-len(note)-len(more)) + more, nil
	}
	part := Options{Settings: slices.DeleteFunc(slices.Clone(o.Settings), func(s Setting) bool { return !strings.HasPrefix(s.Name, name+".") })}
	if len(part.Settings) > 0 {
		return part.overview(), nil
	}
	var names []string
	for _, s := range o.Settings {
		names = append(names, cut(bare(s.Name), 80))
	}
	next := "Call Config without setting, which lists all."
	switch near := nearest.Names(bare(name), names, 5); len(near) {
	case 0:
	case 1:
		next = "The nearest is " + plain.Line(near[0]) + "."
	default:
		next = "The nearest are " + plain.Line(strings.Join(near, ", ")) + "."
	}
	return "", fault.New(fmt.Sprintf("there is no setting %s", plain.Line(fmt.Sprintf("%.80q", name))), next)
}

// below returns the names of the settings below a name.
func (o Options) below(name string) (names []string) {
	for _, s := range o.Settings {
		if strings.HasPrefix(s.Name, bare(name)+".") {
			names = append(names, s.Name)
		}
	}
	return names
}

// bare returns a name in the form in which names are compared: that of a flag without its dashes.
func bare(name string) string { return strings.TrimPrefix(name, "--") }
