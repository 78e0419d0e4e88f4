package office

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// leastWords is the share of LibreOffice's words that a file must have, in percent.
const leastWords = 95

// TestRealFiles compares the words of office files with those that LibreOffice exports. It
// needs OFFICE_FILES, the folder that e2e/office/install.sh prints.
func TestRealFiles(t *testing.T) {
	dir := os.Getenv("OFFICE_FILES")
	if dir == "" {
		t.Skip("OFFICE_FILES is not set")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "[a-z]*.*"))
	right := 0
	for _, path := range files {
		name := filepath.Base(path)
		want, err := os.ReadFile(filepath.Join(dir, "text", name+".txt"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]int{}
		text := show(t, data, Request{})
		for _, w := range words(text) {
			have[w]++
		}
		all, missing := words(string(want)), []string(nil)
		for _, w := range all {
			if have[w]--; have[w] < 0 {
				missing = append(missing, w)
			}
		}
		if len(all) == 0 || 100*(len(all)-len(missing)) < leastWords*len(all) {
			t.Errorf("%s misses %d of %d words: %.200q", name, len(missing), len(all), missing)
			continue
		}
		if strings.Contains(text, "vanished") {
			t.Errorf("%s shows deleted text", name)
		}
		right++
	}
	t.Logf("%d of %d files have %d %% of LibreOffice's words", right, len(files), leastWords)
	if len(files) < 60 {
		t.Errorf("only %d files", len(files))
	}
}

// words returns the runs of letters and digits of a text. Of decimals the first ten count,
// because programs round the last ones differently.
func words(text string) []string {
	out := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range out {
		if len(w) > 10 && strings.Trim(w, "0123456789") == "" {
			out[i] = w[:10]
		}
	}
	return out
}
