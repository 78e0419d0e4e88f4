package upstream

import (
	"context"
	"strings"
	"testing"

	"mcp-toolset/tools"
)

// eras are the modes of a stdio server of both eras.
var eras = []string{"modern", "legacy"}

func TestStdio(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			m, b := begin(t, Config{Servers: []Server{stdioServer(t, "x", era)}})
			if got := b.server("x"); got.State != tools.Idle || got.Tools != nil {
				t.Errorf("it is not idle at first: %+v", got)
			}
			m.Wake(t.Context(), failTime)
			if got := b.server("x"); got.State != tools.Ready || got.Note != "" {
				t.Fatalf("it is not ready: %+v", got)
			}
			const args = `{"n":12345678901234567890,"s":"<é>"}`
			r, err := invoke(t, m, "x", "echo", args, nil)
			if got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text(t, r, err)); got != args {
				t.Errorf("arguments came as %s", got)
			}
			var seen []tools.Progress
			env := testEnv()
			env.Progress = func(p tools.Progress) { seen = append(seen, p) }
			if got := text2(invoke(t, m, "x", "slow", `{}`, env)); got != "done" {
				t.Error(got)
			}
			t.Log(seen)
			_, err = invoke(t, m, "x", "crash", `{}`, nil)
			t.Log(err)
			if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != "{}" {
				t.Error(got)
			}
			_ = context.Canceled
		})
	}
}

func text2(r *tools.Response, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	if t, ok := r.Content[0].(tools.Text); ok {
		return t.Text
	}
	return "no text"
}
