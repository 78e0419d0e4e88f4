package bash

import (
	"regexp"
	"strings"
	"testing"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/tools/toolstest"
)

func TestCases(t *testing.T) {
	f := newFixture(t, func(_ *command.Config, o *Options) { o.MaxOutput = 600 })
	f.needContainment(t)
	toolstest.Run(t, f.Bash, "testdata/bash", f.same)
}

func TestReadOnlyCases(t *testing.T) {
	f := newFixture(t, nil)
	f.needContainment(t)
	toolstest.Run(t, f.ReadOnly, "testdata/readonly", f.same)
}

func TestContainedCases(t *testing.T) {
	f := newFixture(t, nil)
	f.needContainment(t)
	toolstest.Run(t, f.Bash, "testdata/contained", f.same)
}

func TestQuotaCases(t *testing.T) {
	f := newFixture(t, func(c *command.Config, o *Options) {
		c.Quota, o.MaxOutput = spool.Quota{Task: 5000, All: 1 << 20}, 120
	})
	printed := regexp.MustCompile(`\b\d{4,}( bytes of output| lines are left out|: TaskOutput)`)
	toolstest.Run(t, f.Bash, "testdata/quota", f.same, func(text string) string { return printed.ReplaceAllString(text, "$$MANY$1") })
}

func TestNoShellCases(t *testing.T) {
	f := newFixture(t, func(c *command.Config, _ *Options) { c.Shell = "/nonexistent/bash" })
	toolstest.Run(t, f.Bash, "testdata/noshell", f.same)
}

func TestTooLong(t *testing.T) {
	f := newFixture(t, off)
	w := toolstest.NewWorkspace(t)
	if got, _ := text(t, w, f.Bash, "# "+strings.Repeat("x", maxCommand-2)); got != "(no output)" {
		t.Error(got)
	}
	_, err := run(t.Context(), t, w, f.Bash, map[string]any{"command": "# " + strings.Repeat("x", maxCommand-1)})
	if want := "the command has 100001 bytes; the most is 100000. Write it to a file with Write and run that."; err == nil || err.Error() != want {
		t.Error(err)
	}
}
