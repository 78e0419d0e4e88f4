package monitor

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

const (
	// readEvery is the interval at which a monitor looks for more output.
	readEvery = 100 * time.Millisecond
	// readSize is the limit of the output read at once, in characters.
	readSize = 64 << 10
	// maxLine is the limit of a line that filter sees, in bytes.
	maxLine = 16 << 10
	// maxEvents is the limit of events in a window.
	maxEvents = 10
	window    = time.Second
)

// monitor is a job that makes events of the lines that another job prints. It ends after that
// job, once it has read all of the output.
type monitor struct {
	tasks.Job // prints the lines
	id, title string
	filter    *regexp.Regexp // nil: all lines match
	done      chan struct{}
	events    *event.Registry
	owner     session.Owner

	// Only run uses the following fields.
	from           int64 // offset of the output that is not read yet
	line           strings.Builder
	opened         time.Time // beginning of the window
	sent           int       // events in the window
	over           int       // matching lines since the last event that have none
	total, matched int       // lines
	missing        int64     // bytes that were not stored
}

// Kind returns the kind of task.
func (m *monitor) Kind() string { return "monitor" }

// Title returns the description of the monitor and what it watches.
func (m *monitor) Title() string { return m.title + ": " + m.Job.Title() }

// Done returns a channel that is closed after the last event.
func (m *monitor) Done() <-chan struct{} { return m.done }

// Status returns the state of the monitor, which is that of the job after its last event.
func (m *monitor) Status() tasks.Status {
	s := m.Job.Status()
	select {
	case <-m.done:
		return s
	default:
		return tasks.Status{State: tasks.Running, Detail: "running", Started: s.Started}
	}
}

// Stop ends the job, and waits for the last event.
func (m *monitor) Stop(why string) error {
	err := m.Job.Stop(why)
	if err == nil {
		<-m.done
	}
	return err
}

// run makes events until the job has ended.
func (m *monitor) run() {
	defer close(m.done)
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		ended := closed(m.Job.Done()) // before reading: then all of the output is read
		if ended && m.Job.Status().State == tasks.Stopped {
			break
		}
		if err := m.read(); err != nil {
			_ = m.Job.Stop("an error")
			<-m.Job.Done()
			m.add("its output cannot be read: "+plain.Line(err.Error()), false)
			break
		}
		if ended {
			m.endLine()
			break
		}
		if m.over > 0 && time.Since(m.opened) >= window {
			m.report()
		}
		select {
		case <-m.Job.Done():
		case <-tick.C:
		}
	}
	m.report()
	s := m.Job.Status()
	text := fmt.Sprintf("ended after %v, %s: %s. ", s.Ended.Sub(s.Started).Round(time.Second/10), plain.Line(s.Detail), plain.Line(m.title))
	if m.filter == nil {
		text += fmt.Sprintf("It read %s.", lines(m.total))
	} else {
		text += fmt.Sprintf("%d of %s matched.", m.matched, lines(m.total))
	}
	if m.missing > 0 {
		text += fmt.Sprintf(" %d bytes of output were not stored and not read.", m.missing)
	}
	m.add(text, false)
}

// read reads the output that is new.
func (m *monitor) read() error {
	for more := true; more; {
		if printed, _ := m.Output().Bytes(); printed == m.from && !closed(m.Job.Done()) {
			return nil
		}
		part, err := m.Output().Read(context.Background(), spool.Query{Offset: m.from, Max: readSize})
		if err != nil {
			return err
		}
		m.from, more = part.Next, part.More
		m.missing += part.Missing
		for text := range strings.Lines(part.Text) {
			if room := maxLine - m.line.Len(); room > 0 {
				m.line.WriteString(text[:min(len(text), room)])
			}
			if strings.HasSuffix(text, "\n") {
				m.endLine()
			}
		}
		if closed(m.Job.Done()) && m.Job.Status().State == tasks.Stopped {
			return nil
		}
	}
	return nil
}

// endLine makes an event of the line that was read, if it matches.
func (m *monitor) endLine() {
	text := strings.ToValidUTF8(strings.TrimSuffix(m.line.String(), "\n"), "\uFFFD")
	if m.line.Len() == 0 { // the end of output that ends with a newline
		return
	}
	m.line.Reset()
	m.total++
	if m.filter == nil && strings.TrimSpace(text) == "" || m.filter != nil && !m.filter.MatchString(text) {
		return
	}
	m.matched++
	if now := time.Now(); now.Sub(m.opened) >= window {
		m.report()
		m.opened, m.sent = now, 0
	}
	if m.sent++; m.sent > maxEvents {
		m.over++
		return
	}
	m.add(plain.Cut(text, event.MaxText), true)
}

// report makes an event of the number of lines that have none.
func (m *monitor) report() {
	if m.over > 0 {
		m.add(fmt.Sprintf("%s suppressed: more than %d a second. TaskOutput shows them.", lines(m.over), maxEvents), false)
		m.over = 0
	}
}

func (m *monitor) add(text string, data bool) {
	m.events.Add(m.owner, event.Event{Source: "monitor " + m.id, Text: text, Data: data})
}

func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
