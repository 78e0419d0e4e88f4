package upstream

import (
	"strings"
	"testing"

	"mcp-toolset/tools"
)

// eras lists the modes of stdio servers of both eras.
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
			if got := text2(invoke(t, m, "x", "slow", `{}`, nil)); got != "done" {
				t.Error(got)
			}
			const want = "error: the server x ended while the call ran: it ended with exit code 7: fatal error: out of ink; whether it took effect is not known. Look before you repeat it."
			if got := text2(invoke(t, m, "x", "crash", `{}`, nil)); got != want {
				t.Error(got)
			}
			if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != "{}" {
				t.Error(got)
			}
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
