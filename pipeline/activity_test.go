package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/tools"
)

// TestActivity checks which progress a client gets that asked for it: the activity text after half
// a second, values that grow, and nothing for a short call.
func TestActivity(t *testing.T) {
	for _, c := range []struct{ name, arg, want string }{
		{"short", "400ms", ""},
		{"long", "600ms", "500ms: 0 Reading sub/x.go"},
		{"the tool names it", "activity:Reading\n3 400ms", ""},
		{"the tool names it and is long", "activity:Reading_3 600ms", "500ms: 0 Reading_3"},
		{"the tool names it later", "600ms activity:Reading\x1b3 1s", "500ms: 0 Reading sub/x.go\n600ms: 0.6 Reading\\x1b3"},
		{"the tool reports early", "done:7 600ms activity:x done:8", "0s: 7 at 7\n600ms: 8 at 8"},
		{"values grow", "600ms done:0 done:0.1 1s", "500ms: 0 Reading sub/x.go\n600ms: 0.1 at 0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, `{"permissions":{"allow":["Do"]}}`)
				b.Now = time.Now
				began := time.Now()
				r := b.request("Do", fmt.Sprintf(`{"do":"sleep","path":%q,"arg":%q}`, b.root+"/sub/x.go", c.arg))
				r.Arguments = []byte(strings.ReplaceAll(string(r.Arguments), `\x1b`, `\u001b`))
				var heard []string
				r.Progress = func(p tools.Progress) {
					heard = append(heard, fmt.Sprintf("%v: %v %s", time.Since(began), p.Done, p.Message))
				}
				if resp, err := b.Run(t.Context(), r); err != nil || resp.Failed {
					t.Fatalf("%v, %v", resp, err)
				}
				time.Sleep(time.Minute) // nothing follows the answer
				synctest.Wait()
				if diff := cmp.Diff(c.want, strings.Join(heard, "\n")); diff != "" {
					t.Errorf("progress (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestSum checks the summary in the _meta of each kind of answer.
func TestSum(t *testing.T) {
	b := newBench(t, `{"permissions":{"deny":["Do(//**/secret)"]}}`)
	for _, c := range []struct{ args, want string }{
		{`{"do":"say","arg":"x"}`, "Do"},
		{`{"do":"invalid"}`, "Invalid input: do is invalid"},
		{`{"do":"fail","arg":"it broke\u202e` + strings.Repeat("x", 200) + `"}`, `Failed: it broke\u202e` + strings.Repeat("x", 97) + "…"},
		{`{"do":"fault","arg":"` + b.root + `/a does not exist"}`, "Failed: a does not exist"},
		{`{"do":"say","path":"secret"}`, "Refused by policy: the deny rule Do(//**/secret) covers this call"},
		{`{"unknown":1}`, "Invalid input: unknown property \"unknown\""},
	} {
		resp, err := b.Run(t.Context(), b.request("Do", c.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Meta[metaSummary]; got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
	if resp, err := b.Run(t.Context(), b.request("NoTool", `{}`)); err == nil || !errors.As(err, new(*tools.UnknownTool)) {
		t.Errorf("%v, %v", resp, err)
	}
}
