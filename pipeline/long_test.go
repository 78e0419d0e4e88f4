package pipeline

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/record/results"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

var storedIn = regexp.MustCompile(`in (\S+\.txt)`)

// TestLong writes random texts in random pieces and undoes some of them. The
// model's text and the stored text must equal those of the same text made at
// once.
func TestLong(t *testing.T) {
	store := results.New(t.TempDir(), results.Quota, time.Now)
	defer store.Close()
	dir := store.Hold("s")
	r := rand.New(rand.NewPCG(1, 2))
	p := New(Config{Results: store, Rules: Rules{Policy: policy.New(policy.Config{})}})
	for n := range 90 {
		keep := []tools.Excerpt{tools.ExcerptHead, tools.ExcerptTail, tools.ExcerptEnds}[n%3]
		limit := 1000 + r.IntN(3000)
		l := &long{limit: limit, keep: keep, create: func() (*results.File, error) { return store.Create(dir, "long") }}
		var all strings.Builder
		piece := func() string {
			var b strings.Builder
			for range r.IntN(200) {
				b.WriteString([]string{"a", "word ", "é", "日本", "\n", strings.Repeat("x", r.IntN(100)), strings.Repeat("é", r.IntN(15000)*r.IntN(2)*r.IntN(2))}[r.IntN(7)])
			}
			return b.String()
		}
		for range r.IntN(12) {
			if r.IntN(4) == 0 {
				undo := l.Mark()
				for range r.IntN(5) {
					l.Write([]byte(piece()))
				}
				undo()
			}
			text := piece()
			all.WriteString(text)
			l.Write([]byte(text))
		}
		resp := &tools.Response{Content: []tools.Content{tools.Text{Text: all.String()}}}
		p.limit(&tools.Tool{Name: "want", MaxResultSize: limit, Excerpt: keep}, session.View{Results: dir}, resp)
		got, want := l.Text(), joinText(resp.Content)
		file, wantFile := storedIn.FindStringSubmatch(got), storedIn.FindStringSubmatch(want)
		if (file == nil) != (wantFile == nil) {
			if l.runes > limit && utf8.RuneCountInString(all.String()) <= limit {
				continue // it has more characters when its lines are broken
			}
			t.Fatalf("%d: stored in %q, want %q", n, file, wantFile)
		}
		if file == nil {
			if got != want && got != wrap(want) {
				t.Fatalf("%d: %q, want %q", n, got, want)
			}
			continue
		}
		if strings.ReplaceAll(got, file[1], "FILE") != strings.ReplaceAll(want, wantFile[1], "FILE") {
			t.Fatalf("%d (%v, limit %d):\n%q, want\n%q", n, keep, limit, got, want)
		}
		text, err := os.ReadFile(file[1])
		wantText, _ := os.ReadFile(wantFile[1])
		if err != nil || string(text) != string(wantText) {
			t.Fatalf("%d: %d bytes stored, want %d, %v", n, len(text), len(wantText), err)
		}
	}
}

// TestLongUnstored checks a text that cannot be stored for lack of room. The
// model gets its ends, and no stored part remains.
func TestLongUnstored(t *testing.T) {
	store := results.New(t.TempDir(), 100_000, time.Now)
	defer store.Close()
	dir := store.Hold("s")
	l := &long{limit: 2000, create: func() (*results.File, error) { return store.Create(dir, "long") }}
	for range 1000 {
		l.Write([]byte(strings.Repeat("x", 299) + "\n"))
	}
	text := l.Text()
	if !strings.Contains(text, "could not be stored: stored results have used up their quota") || !strings.Contains(text, "of 1000 lines (300000 characters)") {
		t.Error(text)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestLongTakenBack undoes everything that exceeded the limit. No stored part
// may remain.
func TestLongTakenBack(t *testing.T) {
	store := results.New(t.TempDir(), results.Quota, time.Now)
	defer store.Close()
	dir := store.Hold("s")
	l := &long{limit: 2000, create: func() (*results.File, error) { return store.Create(dir, "long") }}
	undo := l.Mark()
	for range 1000 {
		l.Write([]byte(strings.Repeat("x", 299) + "\n"))
	}
	if l.file == nil {
		t.Error("nothing was stored")
	}
	undo()
	l.Write([]byte("short\n"))
	if text := l.Text(); text != "short\n" {
		t.Error(text)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
