package read

import (
	"fmt"
	"strconv"
	"strings"

	"mcp-toolset/internal/file/document/pdf"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// prepared is the input of a call with an absolute path.
type prepared struct {
	Input
	firstPage, lastPage int // 0, 0 without pages
}

// prepare completes and checks the arguments.
func prepare(env *tools.Env, in Input) (p prepared, err error) {
	p.Input = in
	file.CompletePath(env, &p.FilePath)
	if p.firstPage, p.lastPage, err = pages(in.Pages); err != nil {
		return p, err
	}
	return p, file.CheckPath(p.FilePath)
}

// pages parses the pages of a PDF in a call. "" returns 0, 0.
func pages(s string) (first, last int, err error) {
	if s == "" {
		return 0, 0, nil
	}
	from, to, isRange := strings.Cut(s, "-")
	first, err = strconv.Atoi(strings.TrimSpace(from))
	last = first
	if isRange && err == nil {
		last, err = strconv.Atoi(strings.TrimSpace(to))
	}
	shown := plain.Line(s)
	switch {
	case err != nil:
		return 0, 0, &tools.Fault{Fact: fmt.Sprintf("pages is \"%s\", which is neither a page nor a range", shown), Next: `Use one page such as "3", or a range such as "1-5".`}
	case first < 1:
		return 0, 0, &tools.Fault{Fact: fmt.Sprintf("pages is \"%s\", and pages count from 1", shown), Next: `Use one page such as "3", or a range such as "1-5".`}
	case last < first:
		return 0, 0, &tools.Fault{Fact: fmt.Sprintf("pages is \"%s\", which ends before it begins", shown), Next: fmt.Sprintf(`Use "%d-%d".`, max(last, 1), min(first, max(last, 1)+pdf.MaxPages-1))}
	case last-first >= pdf.MaxPages:
		return 0, 0, &tools.Fault{
			Fact: fmt.Sprintf("pages is \"%s\", and a call reads %d pages at most", shown, pdf.MaxPages),
			Next: fmt.Sprintf(`Use "%d-%d", then go on from there.`, first, first+pdf.MaxPages-1),
		}
	}
	return first, last, nil
}
