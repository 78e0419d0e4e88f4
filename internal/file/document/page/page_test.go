package page

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// TestCases reads the pages in testdata. Each file is a txtar archive of page.html and
// of what Read returns.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases:", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p := Read(a.Files[0].Data, Request{URL: "https://example.org/docs/guide.html", HTML: true})
			got := "title: " + p.Title + "\nnote: " + p.Note + "\n\n" + p.Text + "\n"
			if *update {
				a.Files = append(a.Files[:1], txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(a.Files[1].Data), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Text after the limit of HTML is kept as plain text, without what is hidden.
func TestLongPage(t *testing.T) {
	var b strings.Builder
	for b.Len() < maxHTML+100 {
		b.WriteString("<p>some <b>text</b> of a long page</p>\n")
	}
	b.WriteString(`<p hidden>SECRET<p>after<div style="display: none">SECRET<div>SECRET</div>SECRET</div>
<table><tr><td>one<td><p>two</p></table><script>SECRET</script><svg><text>SECRET</text></svg><pre>code
  more</pre> &lt;end&gt;`)
	p := Read([]byte(b.String()), Request{HTML: true})
	if want := "only the first 2 MB of HTML are converted, the rest is plain text"; p.Note != want {
		t.Errorf("got the note %q, want %q", p.Note, want)
	}
	if !strings.HasPrefix(p.Text, "some **text** of a long page\n\nsome") {
		t.Errorf("the text begins with %.100q", p.Text)
	}
	if want := "some text of a long page\n\nafter\n| one | two\ncode\n  more\n<end>"; !strings.HasSuffix(p.Text, want) {
		t.Errorf("the text ends with %q", p.Text[len(p.Text)-200:])
	}
	if strings.Contains(p.Text, "SECRET") {
		t.Error("hidden text is shown")
	}
}

func TestLongText(t *testing.T) {
	p := Read([]byte("\xe9"+strings.Repeat("\x80", maxText/3+10)), Request{Charset: "windows-1252"})
	if len(p.Text) > maxText || !utf8.ValidString(p.Text) || p.Note != "the text after the first 12 MiB is left out" {
		t.Errorf("got %d bytes, %s", len(p.Text), p.Note)
	}
}

func FuzzRead(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range paths {
		if a, err := txtar.ParseFile(path); err == nil {
			f.Add(a.Files[0].Data, "utf-8", true)
		}
	}
	f.Add([]byte("\xff\xfea\x00"), "", true)
	f.Add([]byte(metaHead+"\xe9"), "x", false)
	for _, source := range []string{
		"<table><tr><td colspan=9 rowspan=9>x<td><pre>y", "<svg><p hidden><math><a href=//x>", "<ul><li><blockquote><pre>`", "<select><template><noscript><frameset>",
	} {
		f.Add([]byte(source), "", true)
	}
	f.Fuzz(func(t *testing.T, data []byte, charset string, html bool) {
		p := Read(data, Request{URL: "https://example.org/a/b", Charset: charset, HTML: html})
		for _, s := range []string{p.Title, p.Text, p.Note} {
			if !utf8.ValidString(s) || strings.ContainsAny(s, "\r\x00\x07") {
				t.Errorf("got %q", s)
			}
		}
		if strings.Contains(p.Note, "cannot be converted") {
			t.Errorf("the converter panicked: %s", p.Note)
		}
	})
}
