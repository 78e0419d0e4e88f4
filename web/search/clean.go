package search

import (
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/site"
)

// Limits of the texts of a result, in characters. A longer URL is left out with its result,
// because a part of it leads elsewhere.
const (
	maxTitle   = 200
	maxSnippet = 300
	maxDate    = 40
	maxName    = 40
	maxURL     = 2000
)

// clean makes results safe to show and leaves out those that the domains of the query do not
// allow, that are no web pages, or that have the URL of an earlier one. filtered reports whether
// a domain was the reason.
func clean(all []Result, q Query) (out []Result, filtered bool) {
	seen := map[string]bool{}
	for _, r := range all {
		u, err := url.Parse(strings.TrimSpace(r.URL))
		if err != nil {
			continue
		}
		at, err := site.Of(u)
		if err != nil {
			continue
		}
		if !q.allows(at.Host) {
			filtered = true
			continue
		}
		key, shown := canonical(u, at), u.String()
		if seen[key] || len(shown) > maxURL {
			continue
		}
		seen[key] = true
		title := line(r.Title, maxTitle)
		if title == "" {
			title = at.Host
		}
		out = append(out, Result{title, shown, line(r.Snippet, maxSnippet), line(r.Date, maxDate)})
	}
	return out, filtered
}

// canonical returns a key that is equal for URLs of the same page: it ignores the scheme, the
// default port, a slash at the end, the fragment, and the parameters of advertising campaigns.
func canonical(u *url.URL, at site.Site) string {
	if at.Port == 80 {
		at.Port = 443
	}
	var query []string
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if part != "" && !strings.HasPrefix(part, "utm_") {
			query = append(query, part)
		}
	}
	return at.String() + strings.TrimRight(u.EscapedPath(), "/") + "?" + strings.Join(query, "&")
}

// line returns the text of a piece of HTML or plain text in one line, safe to show, truncated
// to n characters.
func line(text string, n int) string {
	// Only the beginning is shown. Tags are removed before the text is truncated.
	if most := 100 * n; len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return plain.Cut(plain.Text(strings.Join(strings.Fields(stripped(text)), " ")), n)
}

// stripped returns a text without HTML elements. Tags that HTML does not have remain, such
// as the type parameter of "vector<int>".
func stripped(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	skip := ""
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return b.String()
		}
		raw := string(z.Raw())
		token := z.Token()
		switch {
		case skip != "":
			if kind == html.EndTagToken && token.Data == skip {
				skip = ""
			}
		case kind == html.TextToken:
			b.WriteString(token.Data)
		case kind == html.CommentToken || kind == html.DoctypeToken:
		case token.DataAtom == 0:
			b.WriteString(raw)
		case kind == html.StartTagToken && (token.Data == "script" || token.Data == "style"):
			skip = token.Data
		case token.Data == "br" || token.Data == "p" || token.Data == "div" || token.Data == "li":
			b.WriteByte(' ')
		}
	}
}

// day returns the day of a time in ISO 8601, or "" if text has another form.
func day(text string) string {
	if len(text) < len(time.DateOnly) {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)]); err != nil {
		return ""
	}
	return text[:len(time.DateOnly)]
}
