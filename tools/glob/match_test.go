package glob

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, dir, name string
		want               bool
	}{
		{"*.go", "", "a.go", true},
		{"*.go", "x/y", "a.go", true},
		{"*.go", "x", "a.gox", false},
		{"*.{go,md}", "x", "a.md", true},
		{"a", "x", "a", true},
		{"**/a", "x", "a", true},
		{"x/a", "x", "a", true},
		{"x/a", "y/x", "a", false},
		{"x/**", "x/y/z", "a", true},
		{"x/**/a", "x", "a", true},
		{"**", "", "a", true},
		{"**/x/*.go", "y/x", "a.go", true},
		{"**/**/**/a.go", "y/x", "a.go", true},
		{"x/**/**/a.go", "x/y", "a.go", true},
		{"[!a].go", "", "b.go", true},
		{`\*.go`, "", "*.go", true},
		{`\*.go`, "", "a.go", false},
		{"?.go", "", "é.go", true},
		{".*", "", ".env", true},
		{"*", "", ".env", true},
		{"x/{**,b}", "x/y/z", "a", true},
		{"x/*", "x/y", "a", false},
	} {
		m, err := newMatcher(tc.pattern)
		if err != nil {
			t.Errorf("%s: %v", tc.pattern, err)
			continue
		}
		if got := m.match(tc.dir, tc.name); got != tc.want {
			t.Errorf("%s, %s/%s: %v", tc.pattern, tc.dir, tc.name, got)
		}
	}
}

// TestHostilePatterns matches patterns of the allowed size that are expensive against one
// path.
func TestHostilePatterns(t *testing.T) {
	deep := strings.Repeat("a/", 200)
	for _, pattern := range []string{
		strings.Repeat("**/a/", 8) + "b",
		strings.Repeat("**/a*/", 8) + "b",
		strings.Repeat("*a", 400) + "b",
		strings.Repeat("{a,a*}", 9) + "b",
		"**/" + strings.Repeat("{a,*}/", 9) + "b",
	} {
		m, err := newMatcher(pattern)
		if err != nil {
			t.Errorf("%.40s: %v", pattern, err)
			continue
		}
		begin := time.Now()
		m.match(strings.TrimSuffix(deep, "/"), strings.Repeat("a", 200))
		t.Logf("%.40s: %v", pattern, time.Since(begin))
	}
}

// TestLimits checks that the longest pattern is accepted and a longer one is not, and that
// repeated "**/" count as one.
func TestLimits(t *testing.T) {
	for pattern, want := range map[string]string{
		strings.Repeat("a", maxPattern):         "",
		strings.Repeat("a", maxPattern+1):       "the pattern has 4096 bytes, and 4095 is the most. Use a shorter one.",
		strings.Repeat("**/", 200) + "a":        "",
		strings.Repeat("**/a/", maxStars) + "a": "",
		strings.Repeat("{a,b}", 9):              "",
	} {
		m, err := newMatcher(pattern)
		switch {
		case want != "" && (err == nil || err.Error() != want), want == "" && err != nil:
			t.Errorf("%.20s: %v", pattern, err)
		case strings.HasPrefix(pattern, "**/**/") && m.pattern != "a":
			t.Errorf("%.20s is %.40s", pattern, m.pattern)
		}
	}
}

// TestTooLong checks the error of a search that exceeds its timeout.
func TestTooLong(t *testing.T) {
	want := "the search took longer than 30 seconds. Search a folder below with path, or use a simpler pattern."
	if got := folderError(nil, "/w", context.DeadlineExceeded).Error(); got != want {
		t.Error(got)
	}
}
