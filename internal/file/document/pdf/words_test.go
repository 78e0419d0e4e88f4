package pdf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/internal/text/fault"
)

// leastWords is the share of pdftotext's words that a page must have, in percent.
const leastWords = 95

// TestWords compares the words of page 1 of real files with those that pdftotext finds: the
// test files of the two libraries, and those of the folder PDF_FILES. It needs
// PDFTOTEXT, the path of that program. With -v it lists each file that misses words, with
// some of them. A file is right if it has the words of either order of pdftotext: where text
// is turned or overlaid, the usual order takes words apart, and that of the file joins them.
func TestWords(t *testing.T) {
	testscale.NeedFull(t)
	program := os.Getenv("PDFTOTEXT")
	if program == "" {
		t.Skip("PDFTOTEXT is not set")
	}
	texts, right, other, letters, refused := 0, 0, 0, 0, 0
	for _, path := range realFiles(t) {
		want := wordsOfOther(t, program, "", path)
		if len(want) == 0 {
			continue
		}
		texts++
		doc, err := readFile(t, path)
		var f *fault.Fault
		if errors.As(err, &f) {
			refused++
			t.Logf("%s is refused: %v", filepath.Base(path), err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		page := doc.Pages[0]
		have := page.Text + "\n" + page.Notes
		missing := missingWords(want, have)
		if enough(missing, want) {
			right++
			continue
		}
		if want := wordsOfOther(t, program, "-raw", path); enough(missingWords(want, have), want) {
			right++
			other++
			continue
		}
		if sameLetters(strings.Join(want, ""), strings.Join(words(have), "")) {
			letters++ // the words are broken at other places
		}
		t.Logf("%s misses %d of %d words (note %q, picture %v): %.200q", filepath.Base(path), len(missing), len(want), doc.Note, page.Picture != nil, missing)
	}
	t.Logf("%d files with text: %d have %d %% of pdftotext's words on page 1 (%d of them in the order of the file), %d more its letters in other words, %d are refused", texts, right, leastWords, other, letters, refused)
	if 100*right < 95*texts {
		t.Errorf("only %d of %d files have the words of pdftotext", right, texts)
	}
}

// enough reports whether few enough words are missing.
func enough(missing, want []string) bool {
	return 100*(len(want)-len(missing)) >= leastWords*len(want)
}

// realFiles returns PDF files of the module cache and of the folder PDF_FILES.
func realFiles(t *testing.T) (files []string) {
	t.Helper()
	dirs := []string{}
	for _, module := range []string{"github.com/pdfcpu/pdfcpu", "github.com/klippa-app/go-pdfium"} {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, strings.TrimSpace(string(dir)))
	}
	if more := os.Getenv("PDF_FILES"); more != "" {
		dirs = append(dirs, more)
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".pdf") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// wordsOfOther returns the words that pdftotext finds on page 1, in its own order or that
// of the file; none if it fails.
func wordsOfOther(t *testing.T, program, order, path string) []string {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	args := []string{"-q", "-enc", "UTF-8", "-f", "1", "-l", "1", path, "-"}
	if order != "" {
		args = append([]string{order}, args...)
	}
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return nil
	}
	return words(string(out))
}

// words returns the runs of letters and digits of a text. Forms of a character that mean
// the same, such as ligatures and the shapes of Arabic letters, are one character. Marks
// that are not shown, and those that are no part of a letter, whose order differs, are none.
func words(text string) []string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// missingWords returns the words of want that text does not have. Blanks do not matter,
// because programs place them differently.
func missingWords(want []string, text string) (missing []string) {
	have := map[string]int{}
	for _, w := range words(text) {
		have[w]++
	}
	joined := strings.Join(words(text), "")
	for i, w := range want {
		before, after := "", ""
		if i > 0 {
			before = want[i-1]
		}
		if i+1 < len(want) {
			after = want[i+1]
		}
		switch {
		case have[w] > 0:
			have[w]--
		case len(w) >= 4 && strings.Contains(joined, w):
		case before != "" && strings.Contains(joined, before+w), after != "" && strings.Contains(joined, w+after):
		default:
			missing = append(missing, w)
		}
	}
	sort.Strings(missing)
	return missing
}

// sameLetters reports whether text has leastWords percent of the letters of want.
func sameLetters(want, text string) bool {
	have := map[rune]int{}
	for _, r := range text {
		have[r]++
	}
	all, found := 0, 0
	for _, r := range want {
		all++
		if have[r]--; have[r] >= 0 {
			found++
		}
	}
	return 100*found >= leastWords*all
}

func TestMissingWords(t *testing.T) {
	for _, tc := range []struct{ want, text, missing string }{
		{"one two", "Two one", "[]"},
		{"one one", "one", "[one]"},
		{"office", "o\ufb03ce", "[]"},
		{"together", "to gether", "[]"},
	} {
		if got := fmt.Sprint(missingWords(words(tc.want), tc.text)); got != tc.missing {
			t.Errorf("%q in %q: %s, want %s", tc.want, tc.text, got, tc.missing)
		}
	}
}
