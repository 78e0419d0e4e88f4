// Package ask provides the tool AskUserQuestion.
package ask

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// Input holds the arguments of AskUserQuestion.
type Input struct {
	Questions []Question     `json:"questions" minItems:"1" maxItems:"4" jsonschema:"The questions"`
	Metadata  map[string]any `json:"metadata,omitempty" jsonschema:"Without effect"`
}

// Question is one question.
type Question struct {
	Question    string   `json:"question" minLength:"1" maxLength:"4000" jsonschema:"The question, as a full sentence"`
	Header      string   `json:"header,omitempty" minLength:"1" maxLength:"200" jsonschema:"A label of at most 12 characters, such as Library"`
	Options     []Option `json:"options" minItems:"2" maxItems:"4" jsonschema:"The choices; other words are always possible"`
	MultiSelect bool     `json:"multiSelect,omitempty" jsonschema:"Whether several options may be chosen"`
}

// Option is one choice.
type Option struct {
	Label       string `json:"label" minLength:"1" maxLength:"400" jsonschema:"The choice, in 1 to 5 words"`
	Description string `json:"description,omitempty" maxLength:"4000" jsonschema:"What the choice means or leads to"`
	Preview     string `json:"preview,omitempty" maxLength:"20000" jsonschema:"What the choice looks like, such as code"`
}

// Output holds the reply of the user.
type Output struct {
	Declined bool     `json:"declined" jsonschema:"Whether the user declined to answer"`
	Answers  []Answer `json:"answers" jsonschema:"One for each question, in order; none if declined"`
}

// Answer is the answer to one question.
type Answer struct {
	Header  string   `json:"header" jsonschema:"The label of the question"`
	Choices []string `json:"choices" jsonschema:"The labels of the chosen options"`
	Other   string   `json:"other" jsonschema:"The answer in the words of the user"`
}

//go:embed prompt.md
var prompt string

// New returns the tool AskUserQuestion.
func New() *tools.Tool {
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:              "AskUserQuestion",
		Title:             "Ask the user",
		Prompt:            prompt,
		Loading:           tools.LoadDeferred,
		SearchHint:        "ask user question choice clarify decide options",
		Description:       func(p prepared) string { return "Ask about " + p.headers() },
		IsReadOnly:        tools.Always[prepared](),
		IsConcurrencySafe: tools.Always[prepared](),
		Prepare:           func(_ *tools.Env, in Input) (prepared, error) { return prepare(in) },
		Call:              call,
		Render:            func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text()}} },
	})
}

// prepared is a call with its questions.
type prepared struct {
	Input
	questions []question.Question
}

func (p prepared) headers() string {
	var all []string
	for _, q := range p.questions {
		all = append(all, q.Header)
	}
	return strings.Join(all, ", ")
}

// Limits of the texts that the user sees, in characters; of a preview, in lines.
const (
	maxHeader      = 30
	maxDescription = 300
	maxPreview     = 20
)

// preview shortens a preview to the lines that a question shows.
func preview(text string) string {
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= maxPreview {
		return plain.Cut(strings.Join(lines, ""), 4*maxDescription)
	}
	return plain.Cut(strings.Join(lines[:maxPreview], ""), 4*maxDescription) + fmt.Sprintf("[%d more lines]", len(lines)-maxPreview)
}

// prepare makes the questions of a call. It refuses options with the same label.
func prepare(in Input) (prepared, error) {
	p := prepared{Input: in}
	for i, q := range in.Questions {
		seen := map[string]bool{}
		to := question.Question{Header: plain.Cut(plain.Line(cmp.Or(q.Header, q.Question)), maxHeader), Text: q.Question, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			label := strings.ToLower(strings.TrimSpace(o.Label))
			if seen[label] {
				return p, fault.New(fmt.Sprintf("question %d has the option %q twice", i+1, o.Label), "Give each option a label of its own.")
			}
			seen[label] = true
			to.Options = append(to.Options, question.Option{Label: strings.TrimSpace(o.Label), Description: plain.Cut(o.Description, maxDescription), Preview: preview(o.Preview)})
		}
		p.questions = append(p.questions, to)
	}
	return p, nil
}

func call(ctx context.Context, env *tools.Env, p prepared) (tools.Result[Output], error) {
	reply, err := env.AskUser(ctx, p.questions)
	if err != nil {
		return tools.Result[Output]{}, err
	}
	out := Output{Declined: reply.Declined, Answers: []Answer{}}
	for i, a := range reply.Answers {
		out.Answers = append(out.Answers, Answer{p.questions[i].Header, append([]string{}, a.Choices...), a.Other})
	}
	return tools.Result[Output]{Data: out, Did: &tools.Did{Answer: reply.Line(p.questions)}}, nil
}

func (o Output) text() string {
	if o.Declined {
		return "The user declined to answer. Go on without the answer, or end your turn."
	}
	var b strings.Builder
	for _, a := range o.Answers {
		fmt.Fprintf(&b, "%s: %s\n", a.Header, question.Answer{Choices: a.Choices, Other: a.Other})
	}
	return strings.TrimSuffix(b.String(), "\n")
}
