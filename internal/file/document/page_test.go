package document

import (
	"strings"
	"testing"

	"mcp-toolset/internal/file/document/page"
)

func TestPage(t *testing.T) {
	r, _ := testReader(t, maxMemory, maxTime)
	html := "<title>Greeting</title><main><h1>Hello</h1><p>See <a href=/x>there</a>.<pre class=language-go>a\n  b</pre></main>"
	p, err := r.Page(t.Context(), tempFile(t, []byte(html)), int64(len(html)), page.Request{URL: "https://example.org/a/", HTML: true})
	if err != nil {
		t.Fatal(err)
	}
	want := page.Page{Title: "Greeting", Text: "# Hello\n\nSee [there](https://example.org/x).\n\n```go\na\n  b\n```"}
	if *p != want {
		t.Errorf("got %+v, want %+v", *p, want)
	}

	text := "caf\xe9\r\n<b>"
	p, err = r.Page(t.Context(), tempFile(t, []byte(text)), int64(len(text)), page.Request{Charset: "iso-8859-1"})
	if err != nil || p.Text != "café\n<b>" {
		t.Errorf("got %+v, %v", p, err)
	}
}

// A page that takes more than the limits of package page catch ends in a fault.
func TestPageFaults(t *testing.T) {
	r, _ := testReader(t, 30_000_000, maxTime)
	html := strings.Repeat("<p>x<br>y", 200_000)
	f := tempFile(t, []byte(html))
	for _, c := range []struct {
		size int64
		want string
	}{
		{maxPage + 1, "is a page of 10485761 bytes, over the limit of 10 MiB. Fetch a smaller page with the same content."},
		{int64(len(html)), "needs more than 30 MB of memory to read. Fetch a smaller page with the same content."},
		{int64(len(html)) + 1, "became shorter while it was read. Read it again."},
	} {
		if _, err := r.Page(t.Context(), f, c.size, page.Request{HTML: true}); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	for end, want := range map[error]string{
		errTime:  "took longer than 30 s to read. Fetch a smaller page with the same content.",
		errLong:  "has more than 32 MiB to show at once. Fetch a smaller page with the same content.",
		errCrash: "made the reader of pages stop; it is probably damaged. Fetch another page with the same content.",
	} {
		if got := explain(kindPage, end, maxMemory, maxTime).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
