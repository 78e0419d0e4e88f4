package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

const (
	// mostScanned limits the bytes that one search reads, from the newest on.
	mostScanned = 24 << 20
	chunk       = 1 << 20
	// mostFound is the limit of the entries of one answer.
	mostFound = 500
)

// Query selects entries of a log.
type Query struct {
	Text    string    // in any letter case; "": any
	Tool    string    // "": any
	Outcome string    // "": any
	Before  time.Time // only older entries; zero: all
	Limit   int
}

// Found is the answer to a query.
type Found struct {
	Entries []Entry   // the newest first
	Next    time.Time // Query.Before for the next entries; zero: there are no more
	Tools   []Count   // counts by tool; only without Query.Before
	Cut     bool      // older entries were not looked at
}

// Count holds figures of the calls of a tool.
type Count struct {
	Tool                  string
	Calls, Denied, Failed int
	Median, P95           float64 // of the duration, in ms
}

// Find returns the entries of the log at a path, and its rotated files, that a query selects.
// It reads at most 24 MiB, from the newest on.
func Find(path string, q Query) (Found, error) {
	if q.Limit <= 0 || q.Limit > mostFound {
		q.Limit = mostFound
	}
	s := &search{q: q, text: bytes.ToLower([]byte(q.Text)), times: map[string][]float64{}, counts: map[string]*Count{}, room: mostScanned}
	for n := 0; ; n++ {
		name := path
		if n > 0 {
			name = fmt.Sprintf("%s.%d", path, n)
		}
		err := s.file(name)
		if errors.Is(err, fs.ErrNotExist) && n > 0 || errors.Is(err, errEnough) {
			break
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.found, fmt.Errorf("reading the audit log: %w", err)
		}
	}
	s.finish()
	return s.found, nil
}

var errEnough = errors.New("enough was read")

type search struct {
	q      Query
	text   []byte
	room   int64
	found  Found
	full   bool  // the limit is reached
	over   bool  // nothing is added any more; counting goes on
	last   int64 // ms of the last entry of a full page
	counts map[string]*Count
	times  map[string][]float64
}

// file reads a file backwards.
func (s *search) file(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = check(info)
	}
	if err != nil {
		return err
	}
	var rest []byte // the beginning of a line whose end was read
	for at := info.Size(); at > 0; {
		n := min(at, chunk)
		if s.room -= n; s.room < 0 {
			s.found.Cut = true
			return errEnough
		}
		at -= n
		data := make([]byte, n, int(n)+len(rest))
		if _, err := f.ReadAt(data, at); err != nil && err != io.EOF {
			return err
		}
		data = append(data, rest...)
		if at > 0 {
			i := bytes.IndexByte(data, '\n')
			if i < 0 {
				rest = data
				continue
			}
			rest, data = data[:i], data[i+1:]
		}
		for len(data) > 0 {
			data = bytes.TrimSuffix(data, []byte("\n"))
			i := bytes.LastIndexByte(data, '\n')
			if err := s.line(data[i+1:]); err != nil {
				return err
			}
			data = data[:i+1]
		}
	}
	return nil
}

// line looks at one line. It returns errEnough if older lines are not needed.
func (s *search) line(line []byte) error {
	if len(s.text) > 0 && !bytes.Contains(bytes.ToLower(line), s.text) {
		return nil
	}
	var e Entry
	if json.Unmarshal(line, &e) != nil {
		return nil // the torn line of a crash
	}
	if s.q.Tool != "" && e.Tool != s.q.Tool || s.q.Outcome != "" && e.Outcome != s.q.Outcome {
		return nil
	}
	if s.q.Before.IsZero() {
		s.count(&e)
	} else if !e.Time.Before(s.q.Before) {
		return nil
	}
	at := e.Time.UnixMilli()
	switch {
	case s.over:
	case s.full && at != s.last:
		s.found.Next, s.over = time.UnixMilli(s.last), true
		if !s.q.Before.IsZero() {
			return errEnough
		}
	default: // entries of the same time are not divided
		s.found.Entries = append(s.found.Entries, e)
		if len(s.found.Entries) >= s.q.Limit {
			s.full, s.last = true, at
		}
	}
	return nil
}

func (s *search) count(e *Entry) {
	c := s.counts[e.Tool]
	if c == nil {
		c = &Count{Tool: e.Tool}
		s.counts[e.Tool] = c
	}
	c.Calls++
	switch e.Outcome {
	case Refused:
		c.Denied++
	case Failed:
		c.Failed++
	case OK:
		s.times[e.Tool] = append(s.times[e.Tool], e.DurationMS)
	}
}

func (s *search) finish() {
	for tool, c := range s.counts {
		if times := s.times[tool]; len(times) > 0 {
			slices.Sort(times)
			c.Median, c.P95 = times[len(times)/2], times[len(times)*95/100]
		}
		s.found.Tools = append(s.found.Tools, *c)
	}
	slices.SortFunc(s.found.Tools, func(a, b Count) int { return b.Calls - a.Calls })
}
