package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	// Limits of a summary, since the file may come from anybody.
	maxCalls    = 1 << 20 // calls, of which each takes some 100 bytes
	maxTools    = 1000
	maxTextLine = 1 << 20 // bytes of a line; longer ones are skipped
	maxTitle    = 300     // bytes of a title, a name or an id
	listed      = 10      // calls in each list
	latest      = 1e15    // microseconds; a later time is not one of a trace
)

// Summary describes the calls of a trace. Its JSON is for programs; keys are only added.
type Summary struct {
	Calls   int           `json:"calls"`
	Span    Duration      `json:"span_ms"` // from the first event to the last
	Tools   []ToolSummary `json:"tools"`   // the most time first
	Lanes   []LaneSummary `json:"lanes"`   // in the order of the file
	Slowest []Call        `json:"slowest"`
	Waited  []Call        `json:"waited"` // those that waited the longest before they ran
	Ended   []Call        `json:"cancelled"`
	Open    []Call        `json:"open"` // without an end: they ran when the file was written, or the server was killed
	Refused int           `json:"refused"`

	Cancelled int  `json:"cancelled_calls"`
	Unended   int  `json:"open_calls"`
	Complete  bool `json:"complete"`     // the file has its end
	Bad       int  `json:"bad_lines"`    // that are no events
	Left      int  `json:"left_out"`     // events after a limit
	Shared    int  `json:"shared_calls"` // that got the result of an identical call
}

// Duration is a time in microseconds. In JSON it is in milliseconds.
type Duration float64

// MarshalJSON returns d in milliseconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(math.Round(float64(d)) / 1000)
}

// Time returns d as a time.Duration.
func (d Duration) Time() time.Duration { return time.Duration(float64(d) * 1000) }

// ToolSummary describes the calls of a tool. Total, Median and Max are of the times that calls have
// run, Waited is the longest time before one ran.
type ToolSummary struct {
	Tool      string   `json:"tool"`
	Calls     int      `json:"calls"`
	Total     Duration `json:"total_ms"`
	Median    Duration `json:"median_ms"`
	Max       Duration `json:"max_ms"`
	Waited    Duration `json:"max_waited_ms"`
	Cancelled int      `json:"cancelled"`

	ran []Duration
}

// LaneSummary describes the calls of a lane: the sum of the times that they have run, and how many
// ran at once.
type LaneSummary struct {
	Lane    string   `json:"lane"`
	Calls   int      `json:"calls"`
	Total   Duration `json:"total_ms"`
	Most    int      `json:"most_at_once"`
	running int
}

// Call describes one call. Waited is the time before it ran; Stage is the one that took the most of
// it, or the one in which a call without an end is.
type Call struct {
	Tool      string   `json:"tool"`
	Title     string   `json:"title,omitempty"`
	Lane      string   `json:"lane"`
	At        Duration `json:"at_ms"`
	Ran       Duration `json:"ran_ms"`
	Waited    Duration `json:"waited_ms"`
	Stage     string   `json:"stage,omitempty"`
	Cancelled bool     `json:"cancelled,omitempty"`
}

// open is a call that has begun.
type open struct {
	call    Call
	lane    uint64
	stage   string
	since   Duration // begin of the stage
	longest Duration // of a stage before it ran
}

// errNoTrace is the error for a file that has no event of a trace.
var errNoTrace = errors.New("it has no events of a trace; --trace FILE writes one")

type summarizer struct {
	Summary
	open        map[string]*open
	tools       map[string]*ToolSummary
	lanes       map[uint64]*LaneSummary
	order       []uint64
	first, last Duration
	events      int
}

// Summarize reads a trace that a Writer wrote. It skips lines that are no events, and needs no end
// of the file.
func Summarize(from io.Reader) (*Summary, error) {
	s := &summarizer{open: map[string]*open{}, tools: map[string]*ToolSummary{}, lanes: map[uint64]*LaneSummary{}, first: latest}
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := readLine(r)
		if line = bytes.TrimSuffix(bytes.TrimSpace(line), []byte{','}); len(line) > 0 {
			s.line(line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if s.events == 0 {
		return nil, errNoTrace
	}
	return s.done(), nil
}

// readLine returns the next line, or of a longer one than maxTextLine its beginning.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxTextLine-len(line))]...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

func (s *summarizer) line(line []byte) {
	var e struct {
		event
		Args struct {
			Name      string `json:"name"`
			Title     string `json:"title"`
			Shared    bool   `json:"shared"`
			Cancelled bool   `json:"cancelled"`
		} `json:"args"`
	}
	switch {
	case string(line) == "[":
		return
	case string(line) == "]":
		s.Complete = true
		return
	case json.Unmarshal(line, &e) != nil || e.Phase == "" || !(e.Time >= 0 && e.Time < latest):
		s.Bad++
		return
	}
	s.events++
	lane := s.lane(e.PID)
	if e.Phase == "M" {
		if e.Name == "process_name" && lane != nil {
			lane.Lane = cut(e.Args.Name)
		}
		return
	}
	at := Duration(e.Time)
	s.first, s.last = min(s.first, at), max(s.last, at)
	if e.Phase == "n" {
		s.Refused++
		return
	}
	o := s.open[e.ID]
	stage := slices.Contains([]string{queued, decided, waits, running}, e.Name)
	switch {
	case e.Cat != "call" || lane == nil || len(e.ID) > maxTitle || o == nil && (e.Phase != "b" || stage):
		s.Left++ // of a call whose begin is missing, or of another program
	case o == nil && len(s.open)+s.Calls >= maxCalls:
		s.Left++
	case o == nil:
		s.open[e.ID] = &open{call: Call{Tool: cut(e.Name), At: at}, lane: e.PID}
	case stage && e.Phase == "b":
		o.stage, o.since = e.Name, at
		if e.Args.Title != "" {
			o.call.Title = cut(e.Args.Title)
		}
		if e.Name == running {
			o.call.Waited = max(0, at-o.call.At)
			lane.running++
			lane.Most = max(lane.Most, lane.running)
		}
	case stage:
		took := max(0, at-o.since)
		if e.Name == running {
			o.call.Ran += took
			lane.running--
		} else if took >= o.longest {
			o.longest, o.call.Stage = took, e.Name
		}
	case e.Phase == "e":
		c := o.call
		c.Tool, c.Cancelled = cut(e.Name), e.Args.Cancelled
		if o.stage != running {
			c.Waited = max(0, at-c.At)
		}
		if e.Args.Title != "" {
			c.Title = cut(e.Args.Title)
		}
		if e.Args.Shared {
			s.Shared++
		}
		c.Lane = lane.Lane
		delete(s.open, e.ID)
		s.add(c, lane)
	}
}

// add adds a call that has ended.
func (s *summarizer) add(c Call, lane *LaneSummary) {
	s.Calls++
	lane.Calls++
	lane.Total += c.Ran
	t := s.tools[c.Tool]
	if t == nil {
		if len(s.tools) >= maxTools {
			c.Tool = "(others)"
		}
		if t = s.tools[c.Tool]; t == nil {
			t = &ToolSummary{Tool: c.Tool}
			s.tools[c.Tool] = t
		}
	}
	t.Calls++
	t.Total, t.Max, t.Waited = t.Total+c.Ran, max(t.Max, c.Ran), max(t.Waited, c.Waited)
	t.ran = append(t.ran, c.Ran)
	if c.Cancelled {
		s.Cancelled++
		t.Cancelled++
		if len(s.Ended) < listed {
			s.Ended = append(s.Ended, c)
		}
	}
	insert(&s.Slowest, c, func(c Call) Duration { return c.Ran })
	insert(&s.Waited, c, func(c Call) Duration { return c.Waited })
}

// insert adds a call to a list of those with the largest values, unless its value is 0.
func insert(list *[]Call, c Call, value func(Call) Duration) {
	if value(c) <= 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(*list, c, func(a, b Call) int { return cmp.Compare(value(b), value(a)) })
	if *list = slices.Insert(*list, i, c); len(*list) > listed {
		*list = (*list)[:listed]
	}
}

// lane returns a lane of the file, or nil after the limit.
func (s *summarizer) lane(number uint64) *LaneSummary {
	l := s.lanes[number]
	if l == nil && len(s.lanes) < maxTools {
		l = &LaneSummary{}
		s.lanes[number], s.order = l, append(s.order, number)
	}
	return l
}

// done completes the summary.
func (s *summarizer) done() *Summary {
	out := &s.Summary
	out.Span = max(0, s.last-s.first)
	out.Tools, out.Lanes = []ToolSummary{}, []LaneSummary{}
	for _, t := range s.tools {
		slices.Sort(t.ran)
		t.Median = t.ran[len(t.ran)/2]
		if n := len(t.ran); n%2 == 0 {
			t.Median = (t.ran[n/2-1] + t.ran[n/2]) / 2
		}
		out.Tools = append(out.Tools, *t)
	}
	slices.SortFunc(out.Tools, func(a, b ToolSummary) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
	out.Unended = len(s.open)
	for _, o := range s.open {
		c := o.call
		c.Stage, c.Lane = o.stage, s.lanes[o.lane].Lane
		if c.Ran = 0; o.stage == running {
			c.Ran = s.last - o.since
		} else {
			c.Waited = s.last - c.At
		}
		out.Open = append(out.Open, c)
		s.lanes[o.lane].Calls++
	}
	slices.SortFunc(out.Open, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Title, b.Title))
	})
	out.Open = out.Open[:min(len(out.Open), listed)]
	for _, number := range s.order {
		out.Lanes = append(out.Lanes, *s.lanes[number])
	}
	for _, list := range []*[]Call{&out.Slowest, &out.Waited, &out.Ended, &out.Open} {
		if *list == nil {
			*list = []Call{}
		}
	}
	return out
}

// cut returns at most maxTitle bytes of a text, as a copy: the text may be large.
func cut(text string) string {
	return strings.Clone(strings.ToValidUTF8(text[:min(len(text), maxTitle)], ""))
}
