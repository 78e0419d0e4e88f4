// Package trace writes what became of each call as Chrome trace events, which
// Perfetto and chrome://tracing open: a lane is a process, a call a track with
// its stages below it.
package trace

import (
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"time"

	"mcp-toolset/concurrency"
)

const (
	// most is how many bytes wait to be written, and flushAfter how long they
	// do when calls keep coming.
	most       = 16 << 10
	flushAfter = time.Second
	// maxLanes bounds the lanes that are known to have been named; a name that
	// is written again does no harm.
	maxLanes = 1000
)

// Writer writes a trace. It is safe for concurrent use.
//
// The file is an array with one event a line. It is written in whole lines, so
// that one that lacks its end, because the process was killed, is read as well.
type Writer struct {
	out    io.WriteCloser
	began  time.Time
	failed func(error)

	mu      sync.Mutex
	buf     []byte
	flushed time.Time // when buf was last written
	lanes   map[uint64]bool
	some    bool // there is an event
	closed  bool
}

// New starts a trace whose zero is began. failed is told once that out cannot
// be written; from then on nothing is.
func New(out io.WriteCloser, began time.Time, failed func(error)) *Writer {
	w := &Writer{out: out, began: began, flushed: began, failed: failed, lanes: map[uint64]bool{}, buf: []byte("[\n")}
	w.flush() // at once, so that the file is never less than the beginning of an array
	return w
}

// event is one of the Trace Event Format.
type event struct {
	Name  string  `json:"name"`
	Cat   string  `json:"cat,omitempty"`
	Phase string  `json:"ph"`
	Time  float64 `json:"ts"` // microseconds
	PID   uint64  `json:"pid"`
	TID   uint64  `json:"tid"`
	ID    string  `json:"id,omitempty"`
	Args  any     `json:"args,omitempty"`
}

// Observe writes a call that has left. What comes behind Close is dropped.
func (w *Writer) Observe(r concurrency.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if !w.lanes[r.LaneNumber] {
		if len(w.lanes) >= maxLanes {
			clear(w.lanes)
		}
		w.lanes[r.LaneNumber] = true
		w.add(event{Name: "process_name", Phase: "M", PID: r.LaneNumber, TID: r.LaneNumber, Args: map[string]string{"name": r.Lane}})
	}
	name := r.Kind
	if name == "" {
		name = "call"
	}
	w.edge(r, name, "b", r.Arrived, map[string]any{"title": r.Title, "safe": r.Safe, "ran": r.Ran, "shared": r.Shared})
	for i, stage := range stages {
		from, to := stage.from(r), r.Left
		if i+1 < len(stages) && !stages[i+1].from(r).IsZero() {
			to = stages[i+1].from(r)
		}
		if !from.IsZero() && to.After(from) {
			w.edge(r, stage.name, "b", from, nil)
			w.edge(r, stage.name, "e", to, nil)
		}
	}
	w.edge(r, name, "e", r.Left, nil) // last, since readers nest what is at one time in the order of the file
	if now := r.Left; len(w.buf) >= most || now.Sub(w.flushed) >= flushAfter {
		w.flush()
		w.flushed = now
	}
}

// stages of a call, in order. Each lasts until the next begins.
var stages = []struct {
	name string
	from func(concurrency.Record) time.Time
}{
	{"queued", func(r concurrency.Record) time.Time { return r.Arrived }},
	{"decided", func(r concurrency.Record) time.Time { return r.Turn }},
	{"waits", func(r concurrency.Record) time.Time { return r.Settled }},
	{"running", func(r concurrency.Record) time.Time { return r.Started }},
}

// edge adds the beginning or the end of a call or of a stage of it.
func (w *Writer) edge(r concurrency.Record, name, phase string, at time.Time, args any) {
	w.add(event{
		Name: name, Cat: "call", Phase: phase, Time: float64(at.Sub(w.began).Nanoseconds()) / 1000,
		PID: r.LaneNumber, TID: r.LaneNumber, ID: strconv.FormatUint(r.Number, 10), Args: args,
	})
}

func (w *Writer) add(e event) {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings, numbers and booleans only
	}
	if w.some {
		w.buf = append(w.buf, ",\n"...)
	}
	w.some = true
	w.buf = append(w.buf, data...)
}

func (w *Writer) flush() {
	if _, err := w.out.Write(w.buf); err != nil {
		w.closed = true
		w.failed(err)
	}
	w.buf = w.buf[:0]
}

// Close writes the rest and the end of the array.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.buf = append(w.buf, "\n]\n"...)
		w.flush()
	}
	w.closed = true
	return w.out.Close()
}
