package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// longSearchMB is the memory limit of a server that makes ten searches with long answers
// at once, and longSearchTime the timeout for one of them.
const (
	longSearchMB   = 192
	longSearchTime = 2 * time.Minute
)

var storedAnswer = regexp.MustCompile(` in (/\S+\.txt)`)

// TestLongSearches runs ten searches at once, each of which finds every line of a file of
// 20 MB. Each answer names a file with all of its lines, and the server holds few of them
// in memory.
func TestLongSearches(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "lines.txt")
	text := strings.Repeat("a line that each of the searches finds, as all the other lines of the file\n", 270_000)
	put(t, file, text)
	s := startCorpus(t, root, "--sandbox", "off")
	var answers []<-chan reply
	for i := range 10 {
		answers = append(answers, s.tool("Grep", map[string]any{
			"pattern": fmt.Sprintf("a line.{%d}", i), "path": file, "output_mode": "content", "-n": false, "head_limit": 0,
		}))
	}
	for _, answer := range answers {
		var r reply
		select {
		case r = <-answer:
		case <-time.After(longSearchTime):
			t.Fatalf("no answer; the server held %.0f MB", s.peakMB())
		}
		stored := storedAnswer.FindStringSubmatch(r.text)
		if r.failed || stored == nil {
			t.Fatalf("%s%.500s", r.fault, r.text)
		}
		if info, err := os.Stat(stored[1]); err != nil || info.Size() < int64(len(text)-1) {
			t.Errorf("the answer does not have all lines: %v %.300s", err, r.text)
		}
	}
	t.Logf("the server held %.0f MB", s.peakMB())
	if peak := s.peakMB(); peak > longSearchMB {
		t.Errorf("the server held %.0f MB; the bound is %d MB", peak, longSearchMB)
	}
}
