// Package trace writes what becomes of each call, as it does, as Chrome trace
// events, which Perfetto and chrome://tracing open: a lane is a process, a call
// a track with its stages below it.
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
	// most is how many bytes wait to be written, and flushAfter how long they do.
	most       = 16 << 10
	flushAfter = time.Second
	// maxLanes bounds the lanes that are known to have been named; a name that
	// is written again does no harm.
	maxLanes = 1000
)

// Writer writes a trace. It is safe for concurrent use.
//
// The file is an array with one event a line. It is written in whole lines, so
// that one that lacks its end, because the server runs or was killed, is read
// as well. A call that is not done has a beginning and no end there.
type Writer struct {
	out    io.WriteCloser
	began  time.Time
	failed func(error)

	mu     sync.Mutex
	buf    []byte
	timed  bool // buf will be written before long
	lanes  map[uint64]bool
	some   bool // there is an event
	closed bool
}

// New starts a trace whose zero is began. failed is told once that out cannot
// be written; from then on nothing is.
func New(out io.WriteCloser, began time.Time, failed func(error)) *Writer {
	w := &Writer{out: out, began: began, failed: failed, lanes: map[uint64]bool{}, buf: []byte("[\n")}
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

// Observe writes that a call has come to a stage. What comes behind Close is
// dropped.
func (w *Writer) Observe(r concurrency.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.name(r)
	name := r.Kind
	if name == "" {
		name = "call"
	}
	switch r.Stage {
	case concurrency.StageArrived:
		w.edge(r, name, "b", r.Arrived, nil)
		w.edge(r, queued, "b", r.Arrived, nil)
	case concurrency.StageTurn:
		w.edge(r, queued, "e", r.Turn, nil)
		w.edge(r, decided, "b", r.Turn, nil)
	case concurrency.StageSettled:
		w.edge(r, decided, "e", r.Settled, nil)
		w.edge(r, waits, "b", r.Settled, map[string]any{"title": r.Title, "safe": r.Safe})
	case concurrency.StageStarted:
		w.edge(r, waits, "e", r.Started, nil)
		w.edge(r, running, "b", r.Started, map[string]any{"title": r.Title, "safe": r.Safe})
	case concurrency.StageLeft:
		// What is at one time is nested in the order of the file.
		w.edge(r, last(r), "e", r.Left, nil)
		w.edge(r, name, "e", r.Left, map[string]any{
			"title": r.Title, "safe": r.Safe, "ran": r.Ran, "shared": r.Shared, "cancelled": r.Cancelled,
		})
	case concurrency.StageFull:
		w.edge(r, "refused: too many calls wait", "n", r.Arrived, nil)
	}
	w.soon()
}

// Names of the stages of a call. Each lasts until the next begins.
const (
	queued  = "queued"
	decided = "decided"
	waits   = "waits"
	running = "running"
)

// last is the stage that a call left from.
func last(r concurrency.Record) string {
	switch {
	case !r.Started.IsZero():
		return running
	case !r.Settled.IsZero():
		return waits
	case !r.Turn.IsZero():
		return decided
	}
	return queued
}

// name names the lane of a call when it is new.
func (w *Writer) name(r concurrency.Record) {
	if w.lanes[r.LaneNumber] {
		return
	}
	if len(w.lanes) >= maxLanes {
		clear(w.lanes)
	}
	w.lanes[r.LaneNumber] = true
	w.add(event{Name: "process_name", Phase: "M", PID: r.LaneNumber, TID: r.LaneNumber, Args: map[string]string{"name": r.Lane}})
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

// soon writes what waits now if it is much, else before long, though nothing
// else may happen until then.
func (w *Writer) soon() {
	switch {
	case len(w.buf) >= most:
		w.flush()
	case !w.timed:
		w.timed = true
		time.AfterFunc(flushAfter, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.timed = false
			w.flush()
		})
	}
}

func (w *Writer) flush() {
	if len(w.buf) == 0 {
		return
	}
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
