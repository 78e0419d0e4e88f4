// Package question describes questions with choices to the user, and their answers. Whoever
// shows a question, a client's form or a terminal, reads the answer here.
package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

const (
	// MaxOther is the limit of an answer in the user's own words, in characters.
	MaxOther = 2000
	// noAnswer, typed by the user, gives no answer to a question.
	noAnswer = "-"
)

// Question is one question. The user chooses from Options or answers in other words.
type Question struct {
	Header      string   `json:"header"`
	Text        string   `json:"question"`
	Body        string   `json:"body,omitempty"` // lines that belong to the question, such as a plan
	Options     []Option `json:"options"`
	MultiSelect bool     `json:"multiSelect,omitempty"` // several options may be chosen
}

// Option is one choice.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"` // lines that show the choice
}

// Answer is the answer to one question. If both fields are empty, the user gave none.
type Answer struct {
	Choices []string `json:"choices,omitempty"` // labels, in the order of the options
	Other   string   `json:"other,omitempty"`   // the user's own words
}

// Reply is the user's reply to a list of questions.
type Reply struct {
	Declined bool     `json:"declined,omitempty"` // the user does not want to answer
	Answers  []Answer `json:"answers,omitempty"`  // one for each question; nil if Declined
}

// Text returns the questions with numbered options, as lines that are safe to show.
func Text(questions []Question) string {
	var b strings.Builder
	for i, q := range questions {
		several := ""
		if q.MultiSelect {
			several = " (several may be chosen)"
		}
		fmt.Fprintf(&b, "%d. %s: %s%s\n", i+1, plain.Text(q.Header), plain.Text(q.Text), several)
		for line := range strings.Lines(q.Body) {
			b.WriteString("   | " + plain.Text(strings.TrimRight(line, "\r\n")) + "\n")
		}
		for j, o := range q.Options {
			fmt.Fprintf(&b, "   %d) %s", j+1, plain.Text(o.Label))
			if o.Description != "" {
				b.WriteString(": " + plain.Text(o.Description))
			}
			b.WriteByte('\n')
			for line := range strings.Lines(o.Preview) {
				b.WriteString("      | " + plain.Text(strings.TrimRight(line, "\r\n")) + "\n")
			}
		}
	}
	return b.String()
}

// String returns the answer as one line.
func (a Answer) String() string {
	parts := slices.Clone(a.Choices)
	if a.Other != "" {
		parts = append(parts, a.Other)
	}
	if len(parts) == 0 {
		return "no answer"
	}
	return strings.Join(parts, ", ")
}

// Lines returns the reply to the questions with a line for each.
func (r Reply) Lines(questions []Question) string {
	if r.Declined {
		return "The user declined to answer."
	}
	var b strings.Builder
	for i, q := range questions {
		fmt.Fprintf(&b, "%s: %s\n", q.Header, r.Answers[i])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Line returns the reply in one line.
func (r Reply) Line(questions []Question) string {
	return strings.ReplaceAll(r.Lines(questions), "\n", "; ")
}

// Parse reads the answers of a user who types: one text for each question. A text is the
// number or label of an option, several of them with commas between them if the question
// allows it, "-" for no answer, or any other words.
func Parse(questions []Question, texts []string) ([]Answer, error) {
	if len(texts) != len(questions) {
		return nil, fmt.Errorf("%s and %s do not match", count(len(questions), "question"), count(len(texts), "answer"))
	}
	answers := make([]Answer, len(texts))
	for i, text := range texts {
		a, err := questions[i].parse(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("question %d: %w", i+1, err)
		}
		answers[i] = a
	}
	return answers, nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// parse reads the answer to one question.
func (q *Question) parse(text string) (Answer, error) {
	if text == noAnswer || text == "" {
		return Answer{}, nil
	}
	words := []string{text}
	if q.MultiSelect && q.option(text) < 0 {
		words = strings.Split(text, ",")
	}
	chosen := make([]bool, len(q.Options))
	for _, word := range words {
		i := q.option(strings.TrimSpace(word))
		if n, err := strconv.Atoi(strings.TrimSpace(word)); i < 0 && err == nil {
			if n < 1 || n > len(q.Options) {
				return Answer{}, fmt.Errorf("there is no option %d; the options are 1 to %d", n, len(q.Options))
			}
			i = n - 1
		}
		if i < 0 {
			return q.own(text)
		}
		chosen[i] = true
	}
	return q.choose(chosen), nil
}

// option returns the index of the option with a label, or -1.
func (q *Question) option(label string) int {
	return slices.IndexFunc(q.Options, func(o Option) bool { return strings.EqualFold(o.Label, label) })
}

// own returns an answer in the user's own words.
func (q *Question) own(text string) (Answer, error) {
	if n := utf8.RuneCountInString(text); n > MaxOther {
		return Answer{}, fmt.Errorf("the answer has %d characters, and at most %d are allowed", n, MaxOther)
	}
	return Answer{Other: text}, nil
}

func (q *Question) choose(chosen []bool) Answer {
	var a Answer
	for i, o := range q.Options {
		if chosen[i] {
			a.Choices = append(a.Choices, o.Label)
		}
	}
	return a
}

// Check returns an error unless the reply answers the questions.
func (r Reply) Check(questions []Question) error {
	if r.Declined {
		return nil
	}
	if len(r.Answers) != len(questions) {
		return fmt.Errorf("%s and %s do not match", count(len(questions), "question"), count(len(r.Answers), "answer"))
	}
	for i, a := range r.Answers {
		q := &questions[i]
		for _, label := range a.Choices {
			if !slices.ContainsFunc(q.Options, func(o Option) bool { return o.Label == label }) {
				return fmt.Errorf("question %d has no option %q", i+1, label)
			}
		}
		if len(a.Choices) > 1 && !q.MultiSelect {
			return fmt.Errorf("question %d takes one option", i+1)
		}
		if !utf8.ValidString(a.Other) {
			return fmt.Errorf("the answer to question %d is not UTF-8", i+1)
		}
		if _, err := q.own(a.Other); err != nil {
			return fmt.Errorf("question %d: %w", i+1, err)
		}
	}
	return nil
}

// PendingText returns the fault for questions that wait for the user under a number.
func PendingText(number int) *fault.Fault {
	return fault.New(
		fmt.Sprintf("question %d waits for the user", number),
		fmt.Sprintf("Ask it in your reply and end your turn. Or the user runs `mcp-toolset answer %d`, or answers in `mcp-toolset console`, on the machine of the server: an event brings the answer, and exactly this call, sent again, returns it.", number))
}

// NobodyText returns the fault for questions that no person can answer, with the reason.
func NobodyText(why string) *fault.Fault {
	return fault.New("the user cannot be asked here"+why, "Decide by yourself and name the decision in your answer, or end your turn with the question.")
}
