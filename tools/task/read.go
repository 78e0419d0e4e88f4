package task

import (
	"context"
	"fmt"
	"strings"

	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
)

const (
	// maxReads is the limit of reads, of 32 MiB each, in a call that must not wait or has
	// waited long enough.
	maxReads = 4
	// lastPart is the number of bytes read from the end of the output to find the end of a
	// view. It exceeds the longest part of a line that is shown without a break.
	lastPart = 256 << 10
)

// overview returns a view of all output.
func overview(ctx context.Context, t *tasks.Task, limit int) (shown, error) {
	log := t.Output()
	// The next offset is determined before the view is made, so that nothing is lost
	// between two answers. At worst some output is shown twice.
	next, err := end(ctx, log)
	if err != nil {
		return shown{}, err
	}
	v, err := log.View(limit)
	if err != nil {
		return shown{}, err
	}
	p := shown{text: v.Head, next: next}
	if v.Binary {
		printed, _ := log.Bytes()
		p.text = log.NotShown(printed) + "\n"
		return p, nil
	}
	if v.Gap != (spool.Gap{}) {
		if p.text != "" && !strings.HasSuffix(p.text, "\n") {
			p.text += "\n"
		}
		p.text += gap(v.Gap) + v.Tail
	}
	if p.text == "" {
		p.text = "[no output]\n"
	}
	p.open = !strings.HasSuffix(p.text, "\n")
	return p, nil
}

// gap returns the note on omitted output: its size, and how to read it.
func gap(g spool.Gap) string {
	return fmt.Sprintf("[%s omitted: TaskOutput with offset %d]\n", g.Size(), g.From)
}

// end returns the offset after the last byte that can be shown now.
func end(ctx context.Context, log *spool.Log) (int64, error) {
	printed, _ := log.Bytes()
	q := spool.Query{Offset: max(0, printed-lastPart), Max: 2 * lastPart, Partial: true}
	for {
		part, err := log.Read(ctx, q)
		if err != nil || !part.More || part.Next >= printed {
			return part.Next, err
		}
		q.Offset = part.Next
	}
}

// binary replaces binary output from an offset on by a note. Without a filter all output so
// far counts as shown, since reading binary output by offsets is of no use.
func (p shown) binary(ctx context.Context, log *spool.Log, from int64, filtered bool) (_ shown, err error) {
	if !filtered {
		p.more = false
		if p.next, err = end(ctx, log); err != nil {
			return p, err
		}
	}
	p.text = log.NotShown(p.next-from) + "\n"
	return p, nil
}

// from reads from an offset on. If there is no new output, it waits for it as long as w
// permits. It sets s to the status just before the last read.
func from(ctx context.Context, w *waiter, q spool.Query, s *tasks.Status) (shown, error) {
	p := shown{next: q.Offset, follows: true}
	start := q.Offset
	var missing int64
	for reads := 1; ; reads++ {
		printed, _ := w.task.Output().Bytes()
		ended, over := hasEnded(w.task), w.over()
		*s = w.task.Status()
		// The incomplete last line is shown only when the call waits no longer. A filter
		// never gets it, since it would see only the beginning of the line.
		q.Partial = q.Filter == nil && over
		part, err := w.task.Output().Read(ctx, q)
		if err != nil {
			return p, err
		}
		q.Offset, p.next, p.more = part.Next, part.Next, part.More
		missing += part.Missing
		if part.Binary {
			return p.binary(ctx, w.task.Output(), start, q.Filter != nil)
		}
		if part.Text != "" {
			p.text = part.Text
			break
		}
		if part.More && (reads < maxReads || !over) {
			w.tell()
			continue
		}
		if part.More || ended || over {
			break
		}
		if err := w.more(ctx, printed); err != nil {
			return p, err
		}
	}
	p.open = p.text != "" && !strings.HasSuffix(p.text, "\n")
	switch {
	case p.text != "":
	case q.Filter != nil:
		p.text = "[no line that filter matches]\n"
	default:
		p.text = "[nothing new]\n"
	}
	if missing > 0 {
		p.text = fmt.Sprintf("[%d bytes were not kept]\n", missing) + p.text
	}
	return p, nil
}
