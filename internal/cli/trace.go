package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/trace"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

func traceCommand(host *Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "trace [flags] FILE",
		Short: "Summarize a trace that --trace wrote",
		Long: "Prints the calls of a trace by tool with the times that they ran and waited, the slowest calls, those that waited\n" +
			"the longest, those that were cancelled, and the lanes. The file may lack its end, as that of a killed server does.",
		Example: "  mcp-toolset trace trace.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("trace takes a file: mcp-toolset trace FILE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Reset(os.Interrupt, syscall.SIGTERM) // a pipe may have no end, and nothing is left to do
			f, err := os.Open(workspace.Expand(args[0], host.Dir, host.Home))
			if err != nil {
				return usagef("%s: %w", plain.Quote(args[0]), errors.Unwrap(err))
			}
			defer f.Close()
			if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 {
				return usagef("%s: it is not a regular file", plain.Quote(args[0])) // a device may have no end
			}
			s, err := trace.Summarize(f)
			if _, failed := errors.AsType[*fs.PathError](err); err != nil && !failed {
				return usagef("%s: %w", plain.Quote(args[0]), err)
			}
			if err != nil {
				return fmt.Errorf("reading the trace: %w", err)
			}
			b, c := new(bytes.Buffer), screenOf(host, host.Out)
			if asJSON {
				enc := json.NewEncoder(b)
				enc.SetEscapeHTML(false)
				if err := enc.Encode(s); err != nil {
					return err
				}
				return c.printJSON(b.Bytes())
			}
			printTrace(b, c, s)
			return say(host.Out, b.String())
		},
	}
	flagSection{cmd, ""}.on(&asJSON, "json", "print one JSON object, for programs")
	return cmd
}

func printTrace(b *bytes.Buffer, c screen, s *trace.Summary) {
	fmt.Fprintf(b, "%s in %s, %s", tools.Count(s.Calls, "call"), tools.Took(s.Span.Time()), tools.Count(len(s.Lanes), "lane"))
	for _, n := range []struct {
		count int
		what  string
	}{
		{s.Shared, "%d shared the result of an identical call"}, {s.Cancelled, "%d cancelled"}, {s.Refused, "%d refused because too many calls waited"},
		{s.Unended, "%d without an end"},
	} {
		if n.count > 0 {
			fmt.Fprintf(b, "; "+n.what, n.count)
		}
	}
	b.WriteByte('\n')
	if !s.Complete {
		b.WriteString("The file has no end: the server still runs, or was killed.\n")
	}
	if s.Bad+s.Left > 0 {
		fmt.Fprintf(b, "Lines that are no events of a call that the file has: %d\n", s.Bad+s.Left)
	}
	if len(s.Tools) > 0 {
		t := table{cut: []int{0}}
		t.row("TOOL", "CALLS", "TOTAL", "MEDIAN", "MAX", "MAX WAIT", "CANCELLED")
		for _, e := range s.Tools {
			t.row(plain.Line(e.Tool), strconv.Itoa(e.Calls), took(e.Total), took(e.Median), took(e.Max), took(e.Waited), strconv.Itoa(e.Cancelled))
		}
		b.WriteByte('\n')
		t.write(b, c)
	}
	traceCalls(b, c, "SLOWEST", s.Slowest, func(e trace.Call) string { return took(e.Ran) })
	traceCalls(b, c, "WAITED", s.Waited, func(e trace.Call) string { return took(e.Waited) + " " + e.Stage })
	traceCalls(b, c, "CANCELLED", s.Ended, func(e trace.Call) string { return took(e.Ran) })
	traceCalls(b, c, "WITHOUT AN END", s.Open, func(e trace.Call) string { return took(max(e.Ran, e.Waited)) + " " + e.Stage })
	t := table{cut: []int{0}}
	t.row("LANE", "CALLS", "TOTAL", "MOST AT ONCE")
	for _, l := range s.Lanes {
		t.row(plain.Line(l.Lane), strconv.Itoa(l.Calls), took(l.Total), strconv.Itoa(l.Most))
	}
	b.WriteByte('\n')
	t.write(b, c)
}

// traceCalls prints a list of calls with a value of each, unless it is empty.
func traceCalls(b *bytes.Buffer, c screen, heading string, list []trace.Call, value func(trace.Call) string) {
	if len(list) == 0 {
		return
	}
	t := table{cut: []int{2, 3}}
	t.row(heading, "TOOL", "CALL", "LANE")
	for _, e := range list {
		t.row(plain.Line(value(e)), plain.Line(e.Tool), plain.Line(e.Title), plain.Line(e.Lane))
	}
	b.WriteByte('\n')
	t.write(b, c)
}

// took returns a duration of a trace for a table.
func took(d trace.Duration) string {
	if t := d.Time(); t.Milliseconds() >= 1000 {
		return tools.Took(t)
	}
	return fmt.Sprintf("%.1f ms", float64(d)/1000)
}
