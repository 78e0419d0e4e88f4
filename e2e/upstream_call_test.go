//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"mcp-toolset/internal/testscale"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// outcome is the answer to a call.
type outcome struct {
	text   string // all texts, concatenated
	failed bool
	fault  string // the reason that there is no answer
	raw    string // the whole result
	blocks []block
}

// block is a part of a result.
type block struct {
	Type, Text, Data, MIMEType, URI string
	Resource                        struct{ URI, MIMEType, Text, Blob string }
}

// show formats an answer for the message of a failed test.
func (o outcome) show() string { return fmt.Sprintf("failed %v %s %.1500s", o.failed, o.fault, o.raw) }

// says reports whether the answer is not an error and contains words.
func (o outcome) says(words string) bool {
	return o.fault == "" && !o.failed && strings.Contains(o.text, words)
}

// fails reports whether the answer is an error for the model and contains all words.
func (o outcome) fails(words ...string) bool {
	return o.fault == "" && o.failed && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(o.text, w) })
}

func outcomeOf(m message) (o outcome) {
	if m.Error != nil {
		return outcome{fault: m.Error.Message}
	}
	var r struct {
		IsError bool
		Content []block
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return outcome{fault: err.Error()}
	}
	o = outcome{failed: r.IsError, raw: string(m.Result), blocks: r.Content}
	for _, b := range r.Content {
		o.text += b.Text
	}
	return o
}

// door is a way to call a tool: by its own name, or by CallTool.
type door func(tool, args string) (string, string)

func direct(tool, args string) (string, string) { return tool, args }

func dispatched(tool, args string) (string, string) {
	return "CallTool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)
}

var doors = map[string]door{"direct": direct, "CallTool": dispatched}

// begin sends a call.
func (h *host) begin(d door, tool, args string) (id int, answer <-chan message) {
	name, args := d(tool, args)
	return h.send("tools/call", fmt.Sprintf(`{"_meta":{"progressToken":"p"},"name":%q,"arguments":%s}`, name, args))
}

// ask makes a call and answers the questions to its user, in as many rounds as it takes.
func (h *host) ask(d door, tool, args string) outcome {
	name, args := d(tool, args)
	params := fmt.Sprintf(`"name":%q,"arguments":%s`, name, args)
	more := ""
	for range 20 {
		_, answer := h.send("tools/call", "{"+params+more+"}")
		m := h.await(answer)
		var r struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]struct {
				Method string
				Params question
			}
		}
		if m.Error != nil || json.Unmarshal(m.Result, &r) != nil || r.ResultType != "input_required" {
			return outcomeOf(m)
		}
		replies := map[string]json.RawMessage{}
		for name, q := range r.InputRequests {
			if h.answer == nil || q.Method != "elicitation/create" {
				return outcome{fault: "asked what cannot be answered: " + string(m.Result)}
			}
			replies[name] = json.RawMessage(h.answer(q.Params))
		}
		given, _ := json.Marshal(replies)
		more = fmt.Sprintf(`,"requestState":%q,"inputResponses":%s`, r.RequestState, given)
	}
	return outcome{fault: "it asks without an end"}
}

// call calls a tool by its own name.
func (h *host) call(tool, args string) outcome { return h.ask(direct, tool, args) }

// must makes a call that must be answered without an error.
func (h *host) must(tool, args string) outcome {
	h.t.Helper()
	o := h.call(tool, args)
	if o.fault != "" || o.failed {
		h.t.Fatalf("%s %.300s: %s", tool, args, o.show())
	}
	return o
}

// listed returns the definitions of tools/list, and their names in its order.
func (h *host) listed() (raw json.RawMessage, names []string, tools map[string]json.RawMessage) {
	h.t.Helper()
	var r struct{ Tools json.RawMessage }
	var all []json.RawMessage
	if err := json.Unmarshal(h.want("tools/list", "{}"), &r); err != nil {
		h.t.Fatal(err)
	}
	if err := json.Unmarshal(r.Tools, &all); err != nil {
		h.t.Fatal(err)
	}
	tools = map[string]json.RawMessage{}
	for _, one := range all {
		var d struct{ Name string }
		if err := json.Unmarshal(one, &d); err != nil {
			h.t.Fatal(err)
		}
		names, tools[d.Name] = append(names, d.Name), one
	}
	return r.Tools, names, tools
}

// becomes waits until a condition is true.
func becomes(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.After(deadline)
	for tick := time.Tick(20 * time.Millisecond); !is(); {
		select {
		case <-tick:
		case <-late:
			t.Fatalf("it does not become true that %s", what)
		}
	}
}

// there reports whether a file exists.
func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// lines returns the lines of a file, or none if there is no file.
func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// kinds lists the transports and eras. At quick scale each transport and each era is in one.
var kinds = testscale.Sample([]struct {
	name         string
	http, modern bool
}{{"stdio legacy", false, false}, {"stdio modern", false, true}, {"http legacy", true, false}, {"http modern", true, true}}, 2)
