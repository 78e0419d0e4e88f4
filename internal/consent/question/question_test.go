package question

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var asked = []Question{
	{Header: "Library", Text: "Which library?", Options: []Option{{Label: "A", Description: "small", Preview: "a = 1\nb\x1b[2J"}, {Label: "B", Description: "large"}}},
	{Header: "Systems", Text: "Which systems?", Body: "one\ntwo\x1b[2J\n", MultiSelect: true, Options: []Option{{Label: "Linux"}, {Label: "macOS"}, {Label: "1"}}},
}

func TestText(t *testing.T) {
	const want = `1. Library: Which library?
   1) A: small
      | a = 1
      | b\x1b[2J
   2) B: large
2. Systems: Which systems? (several may be chosen)
   | one
   | two\x1b[2J
   1) Linux
   2) macOS
   3) 1
`
	if diff := cmp.Diff(want, Text(asked)); diff != "" {
		t.Error(diff)
	}
}

// TestForm checks the form, and that its answers are read.
func TestForm(t *testing.T) {
	_, schema := Form(asked)
	const want = `{"type":"object","properties":{` +
		`"q1":{"type":"string","title":"Library","description":"Which library?","enum":["A","B"]},` +
		`"q1_other":{"type":"string","title":"Library: other","description":"An answer in other words","maxLength":2000},` +
		`"q2_option1":{"type":"boolean","title":"Systems: Linux"},` +
		`"q2_option2":{"type":"boolean","title":"Systems: macOS"},` +
		`"q2_option3":{"type":"boolean","title":"Systems: 1"},` +
		`"q2_other":{"type":"string","title":"Systems: other","description":"An answer in other words","maxLength":2000}}}`
	if diff := cmp.Diff(want, string(schema)); diff != "" {
		t.Error(diff)
	}
	long := strings.Repeat("é", MaxOther)
	for content, want := range map[string][]Answer{
		`{"q1":"B","q2_option1":true,"q2_option2":false,"q2_option3":true}`: {{Choices: []string{"B"}}, {Choices: []string{"Linux", "1"}}},
		`{"q1":"b, if it is free"}`:                                         {{Other: "b, if it is free"}, {}},
		`{"q1":"A","q1_other":" but new ","q2":"1"}`:                        {{Choices: []string{"A"}, Other: "but new"}, {Choices: []string{"1"}}},
		`{"q1":7,"q2_option1":"true","q3":"x"}`:                             {{}, {}},
		``:                                                                  {{}, {}},
		`[`:                                                                 {{}, {}},
		`{"q2_other":"` + long + `é"}`:                                      {{}, {Other: long}},
	} {
		got := Read(asked, json.RawMessage(content))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.60s (-want +got):\n%s", content, diff)
		}
		if err := (Reply{Answers: got}).Check(asked); err != nil {
			t.Errorf("%.60s: %v", content, err)
		}
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		texts []string
		want  []Answer
		err   string
	}{
		{[]string{"2", "2, linux"}, []Answer{{Choices: []string{"B"}}, {Choices: []string{"Linux", "macOS"}}}, ""},
		{[]string{"a", "1"}, []Answer{{Choices: []string{"A"}}, {Choices: []string{"1"}}}, ""},
		{[]string{"-", ""}, []Answer{{}, {}}, ""},
		{[]string{"1,2", "Linux, and Plan 9"}, []Answer{{Other: "1,2"}, {Other: "Linux, and Plan 9"}}, ""},
		{[]string{"1"}, nil, "2 questions and 1 answer do not match"},
		{[]string{"3", "1"}, nil, "question 1: there is no option 3; the options are 1 to 2"},
		{[]string{"1", "0,1"}, nil, "question 2: there is no option 0; the options are 1 to 3"},
		{[]string{"1", strings.Repeat("x", MaxOther+1)}, nil, "question 2: the answer has 2001 characters, and at most 2000 are allowed"},
	} {
		got, err := Parse(asked, test.texts)
		if test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%.40q: %v", test.texts, err)
			}
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", test.texts, err, diff)
		}
	}
}

// TestCheck checks that a reply that a terminal could not have given is refused.
func TestCheck(t *testing.T) {
	for want, answers := range map[string][]Answer{
		"2 questions and 0 answers do not match":                                   {},
		`question 1 has no option "C"`:                                             {{Choices: []string{"C"}}, {}},
		"question 1 takes one option":                                              {{Choices: []string{"A", "B"}}, {}},
		"the answer to question 2 is not UTF-8":                                    {{}, {Other: "\xff"}},
		"question 2: the answer has 2001 characters, and at most 2000 are allowed": {{}, {Other: strings.Repeat("x", MaxOther+1)}},
	} {
		if err := (Reply{Answers: answers}).Check(asked); err == nil || err.Error() != want {
			t.Errorf("%+v: %v", answers, err)
		}
	}
	if got := (Reply{Answers: []Answer{{Choices: []string{"A"}, Other: "new"}, {}}}).Lines(asked); got != "Library: A, new\nSystems: no answer" {
		t.Errorf("%q", got)
	}
}

// TestHead checks the first lines of a form, which hold the question and the choices: some clients
// show no more.
func TestHead(t *testing.T) {
	long := strings.Repeat("x", 150)
	options := []Option{{Label: "sum", Description: "short"}, {Label: "plus", Description: "longer"}}
	for _, c := range []struct {
		name      string
		questions []Question
		want      string // of the first lines
		all       bool   // the message has nothing else
	}{
		{"short", []Question{{Header: "Name", Text: "Which name?", Options: options}}, "The model asks: Which name?\n1) sum: short   2) plus: longer", true},
		{"several choices", []Question{{Header: "Name", Text: "Which?", Options: options, MultiSelect: true}}, "The model asks: Which? (several may be chosen)\n1) sum: short   2) plus: longer", true},
		{"a long question", []Question{{Header: "Name", Text: long, Options: options}}, "The model asks: " + long[:93] + "…\n1) sum: short   2) plus: longer", false},
		{"long descriptions", []Question{{Header: "Name", Text: "Which?", Options: []Option{{Label: "a", Description: long}, {Label: "b", Description: long}}}}, "The model asks: Which?\n1) a   2) b", false},
		{"for a narrow window", []Question{{Header: "Name", Text: "Which?", Options: []Option{{Label: "PostgreSQL", Description: "A server of its own"}, {Label: "SQLite", Description: "A file beside the data"}}}},
			"The model asks: Which?\n1) PostgreSQL: A server of its own\n2) SQLite: A file beside the data", true},
		{"a preview", []Question{{Header: "Name", Text: "Which?", Options: []Option{{Label: "a", Preview: "p"}}}}, "The model asks: Which?\n1) a", false},
		{"a plan", []Question{{Header: "Plan", Text: "Carry out this plan?", Body: "# Plan\n1. one\n2. two\n", Options: []Option{{Label: "Accept"}, {Label: "Decline"}}}},
			"The model asks: Carry out this plan? (3 lines)\n| # Plan\n1) Accept   2) Decline", false},
		{"three questions", []Question{{Header: "A", Text: "First?", Options: options}, {Header: "B", Text: "Second?", Options: options}, {Header: "C", Text: "Third?", Options: options}},
			"The model asks 3 questions: A, B, C\n1. First?\n2. Second?", false},
		{"nothing hides", []Question{{Header: "A", Text: "x\naccepting: nothing\u202e", Options: []Option{{Label: "y\nz"}}}}, "The model asks: x\\naccepting: nothing\\u202e\n1) y\\nz", true},
	} {
		message, _ := Form(c.questions)
		rest, ok := strings.CutPrefix(message, c.want)
		if !ok || (rest == "") != c.all || rest != "" && rest != "\n"+Text(c.questions) {
			t.Errorf("%s: %s", c.name, message)
		}
		for _, line := range strings.SplitN(message, "\n", headLines+1)[:strings.Count(c.want, "\n")+1] {
			if utf8.RuneCountInString(line) > Columns {
				t.Errorf("%s: %d characters: %s", c.name, utf8.RuneCountInString(line), line)
			}
		}
	}
}
