package toolsearch_test

import (
	"strings"
	"testing"
	"time"

	"mcp-toolset/tools/toolstest"
)

// TestLongWord checks that a very long word is answered at once.
func TestLongWord(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	tool := searching(registryOf(t, count()))
	for _, query := range []string{strings.Repeat("a", 1<<17), "+" + strings.Repeat("a", 1<<17)} {
		start := time.Now()
		if got := names(t, w, tool, args(query, 5)); len(got) > 0 {
			t.Errorf("found %v", got)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%d letters took %s", len(query), took)
		}
	}
	if got := names(t, w, tool, args("WordCountings"+strings.Repeat("s", 5), 5)); len(got) != 1 {
		t.Errorf("what begins with a word finds %v", got)
	}
}
