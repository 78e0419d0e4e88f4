package read

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"mcp-toolset/internal/document/pdf"
	"mcp-toolset/internal/plain"
	"mcp-toolset/tools"
)

// network begins the path of a file on another Windows machine.
const network = `\\`

// backfill makes the path absolute. A network path is not one of this machine,
// and stays what it is for validate to say so.
func backfill(env *tools.Env, in *Input) {
	if !isNetwork(in.FilePath) {
		in.FilePath = env.Abs(in.FilePath)
	}
}

func isNetwork(path string) bool {
	return runtime.GOOS != "windows" && strings.HasPrefix(path, network)
}

// device are paths that name no file: what is read from them is without end,
// waits for a person, or is a process's own.
var device = regexp.MustCompile(`^(/dev/(zero|full|null|u?random|stdin|stdout|stderr|tty\w*|console|ptmx|pts/.*|fd/.*|mem|kmem|kmsg|port)|` +
	`/proc/(kmsg|kcore)|/proc/[^/]+/(task/[^/]+/)?(fd/.*|mem))$`)

// validate judges a call by its words alone.
func validate(in Input) error {
	_, _, err := pages(in.Pages)
	switch {
	case err != nil:
		return err
	case isNetwork(in.FilePath):
		return &tools.Fault{
			Fact: plain.Line(in.FilePath) + " is a network path of Windows, and this machine is not one",
			Next: "Use the path at which the share is mounted here.",
		}
	case device.MatchString(in.FilePath):
		return &tools.Fault{Fact: plain.Line(in.FilePath) + " is a device or belongs to a running process", Next: "Only files can be read."}
	}
	return nil
}

// pages reads the pages of a PDF that a call asks for; "" is 0, 0.
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
