package question

import (
	"encoding/json"
	"fmt"
	"strings"

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
	return Text(questions), schema
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
