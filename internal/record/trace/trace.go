// Package trace writes the stages of each call as Chrome trace events, which
// Perfetto and chrome://tracing can open. A lane is shown as a process, and a
// call as a track with its stages below it.
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
	// most is the size of the buffer at which it is written, in bytes.
	// flushAfter is the longest time that data is buffered.
	most       = 16 << 10
	flushAfter = time.Second
	// maxLanes is the limit of the set of named lanes. Naming a lane again is
	// harmless.
	maxLanes = 1000
)

// Writer writes a trace. It is safe for concurrent use.
//
// The file is an array with one event per line. It is written in complete
// lines, so that viewers can read it without its end, while the server runs or
// after it was killed. A call that has not ended has a begin event and no end
// event.
type Writer struct {
	out    io.WriteCloser
	began  time.Time
	failed func(error)

	mu     sync.Mutex
	buf    []byte
	timed  bool // a flush is scheduled
	lanes  map[uint64]bool
	some   bool // an event was added
	closed bool
}

// New starts a trace with began as time zero. If writing to out fails, it calls
// failed once and writes nothing more.
func New(out io.WriteCloser, began time.Time, failed func(error)) *Writer {
	w := &Writer{out: out, began: began, failed: failed, lanes: map[uint64]bool{}, buf: []byte("[\n")}
	w.flush() // at once, so that the file always begins an array
	return w
}

// event is an event of the Trace Event Format.
type event struct {
	Name  string  `json:"name"`
	Cat   string  `json:"cat,omitempty"`
	Phase string  `json:"ph"`
	Time  float64 `json:"ts"` // in microseconds
	PID   uint64  `json:"pid"`
	TID   uint64  `json:"tid"`
	ID    string  `json:"id,omitempty"`
	Args  any     `json:"args,omitempty"`
}

// Observe records that a call has reached a stage. It does nothing after Close.
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
		// Events with equal times are nested in the order of the file.
		w.edge(r, last(r), "e", r.Left, nil)
		w.edge(r, name, "e", r.Left, map[string]any{
			"title": r.Title, "safe": r.Safe, "ran": r.Ran, "shared": r.Shared, "cancelled": r.Cancelled,
		})
	case concurrency.StageFull:
		w.edge(r, "refused: too many calls wait", "n", r.Arrived, nil)
	}
	w.scheduleFlush()
}

// Names of the stages of a call. Each stage lasts until the next begins.
const (
	queued  = "queued"
	decided = "decided"
	waits   = "waits"
	running = "running"
)

// last returns the stage in which a call left.
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

// name adds the name of a call's lane when the lane is new.
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

// edge adds the begin or end event of a call or of one of its stages.
func (w *Writer) edge(r concurrency.Record, name, phase string, at time.Time, args any) {
	w.add(event{
		Name: name, Cat: "call", Phase: phase, Time: float64(at.Sub(w.began).Nanoseconds()) / 1000,
		PID: r.LaneNumber, TID: r.LaneNumber, ID: strconv.FormatUint(r.Number, 10), Args: args,
	})
}

func (w *Writer) add(e event) {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // cannot happen: the values are strings, numbers and booleans
	}
	if w.some {
		w.buf = append(w.buf, ",\n"...)
	}
	w.some = true
	w.buf = append(w.buf, data...)
}

// scheduleFlush flushes a large buffer now. Otherwise it schedules a flush, because no
// other event may follow.
func (w *Writer) scheduleFlush() {
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

// Close writes the buffered events and the end of the array, and closes the
// output.
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
