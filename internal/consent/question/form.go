package question

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/plain"
)

// property is the schema of one field of a form. Fields of these kinds can be shown by
// clients of all protocol revisions, so an option of several is a yes or no of its own.
type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	MaxLength   int      `json:"maxLength,omitempty"`
}

// Form returns the questions as a form for a client: a message, and the schema of its flat
// fields, none of which is required. The names of the fields sort in the order of the questions.
func Form(questions []Question) (message string, schema json.RawMessage) {
	fields := map[string]property{}
	for i, q := range questions {
		header, text := plain.Line(q.Header), plain.Line(q.Text)
		if q.MultiSelect {
			for j, o := range q.Options {
				fields[optionField(i, j)] = property{Type: "boolean", Title: header + ": " + plain.Line(o.Label), Description: plain.Line(o.Description)}
			}
		} else {
			f := property{Type: "string", Title: header, Description: text}
			for _, o := range q.Options {
				f.Enum = append(f.Enum, plain.Line(o.Label))
			}
			fields[choiceField(i)] = f
		}
		fields[otherField(i)] = property{Type: "string", Title: header + ": other", Description: "An answer in other words", MaxLength: MaxOther}
	}
	schema, err := json.Marshal(struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
	}{"object", fields})
	if err != nil {
		panic(err) // cannot happen: strings and numbers only
	}
	head, all := head(questions)
	message = strings.Join(head, "\n")
	if !all {
		message += "\n" + Text(questions)
	}
	return message, schema
}

// Columns is the width of a line of a message that clients show, and headLines the number of lines:
// Claude Code 2.1 shows three lines of a longer message, each cut at the width of its window.
// Narrow is the width of a line in a window of 60 columns. What matters most is within it.
const (
	Columns   = 110
	Narrow    = 55
	headLines = 3
)

// head returns the first lines of a message, which hold the question and the choices. all reports
// that they hold everything.
func head(questions []Question) (lines []string, all bool) {
	if len(questions) != 1 {
		var headers []string
		for i, q := range questions {
			headers = append(headers, plain.Line(q.Header))
			lines = append(lines, plain.Cut(fmt.Sprintf("%d. %s", i+1, plain.Line(q.Text)), Columns))
		}
		first := plain.Cut(fmt.Sprintf("The model asks %d questions: %s", len(questions), strings.Join(headers, ", ")), Columns)
		return append([]string{first}, lines[:min(len(lines), headLines-1)]...), false
	}
	q := questions[0]
	text := "The model asks: " + plain.Line(q.Text)
	if n := strings.Count(strings.TrimSpace(q.Body), "\n") + 1; q.Body != "" {
		text += fmt.Sprintf(" (%s)", count(n, "line"))
		start, _, _ := strings.Cut(strings.TrimSpace(q.Body), "\n")
		lines = append(lines, plain.Cut("| "+plain.Line(start), Columns))
	}
	if q.MultiSelect {
		text += " (several may be chosen)"
	}
	lines = append([]string{plain.Cut(text, Columns)}, lines...)
	all = q.Body == "" && lines[0] == text
	room := headLines - len(lines)
	label := func(o Option) string { return plain.Line(o.Label) }
	described := func(o Option) string {
		if o.Description == "" {
			return label(o)
		}
		return label(o) + ": " + plain.Line(o.Description)
	}
	choices, fit := packed(q.Options, room, Narrow, described)
	if !fit {
		choices, fit = packed(q.Options, room, Columns, described)
	}
	if !fit {
		var all bool
		if choices, all = packed(q.Options, room, Narrow, label); !all {
			choices, _ = packed(q.Options, room, Columns, label)
		}
	}
	for _, o := range q.Options {
		fit = fit && o.Preview == ""
	}
	return append(lines, choices...), all && fit
}

// packed returns the options in a number of lines of a width. It reports whether nothing was left out.
func packed(options []Option, most, width int, text func(Option) string) (lines []string, fit bool) {
	fit = true
	for i, o := range options {
		one := fmt.Sprintf("%d) %s", i+1, text(o))
		if short := plain.Cut(one, width); short != one {
			one, fit = short, false
		}
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+3+utf8.RuneCountInString(one) <= width {
			lines[last] += "   " + one
			continue
		}
		lines = append(lines, one)
	}
	return lines[:min(most, len(lines))], fit && len(lines) <= most
}

func choiceField(i int) string    { return fmt.Sprintf("q%d", i+1) }
func optionField(i, j int) string { return fmt.Sprintf("q%d_option%d", i+1, j+1) }
func otherField(i int) string     { return fmt.Sprintf("q%d_other", i+1) }

// Read reads the answers from the content of a form that a client sent. It ignores unknown
// fields and fields of another type. A choice that is no option counts as the user's own words.
func Read(questions []Question, content json.RawMessage) []Answer {
	var fields map[string]any
	_ = json.Unmarshal(content, &fields)
	answers := make([]Answer, len(questions))
	for i, q := range questions {
		a := &answers[i]
		chosen := make([]bool, len(q.Options))
		for j, o := range q.Options {
			chosen[j] = fields[optionField(i, j)] == true || fields[choiceField(i)] == plain.Line(o.Label)
		}
		*a = q.choose(chosen)
		other, _ := fields[otherField(i)].(string)
		if choice, _ := fields[choiceField(i)].(string); len(a.Choices) == 0 && other == "" {
			other = choice
		}
		a.Other = cut(strings.TrimSpace(other))
	}
	return answers
}

// cut shortens a text to MaxOther characters.
func cut(text string) string {
	if r := []rune(text); len(r) > MaxOther {
		return string(r[:MaxOther])
	}
	return text
}
