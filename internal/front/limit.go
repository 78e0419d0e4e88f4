package front

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// meter holds the limits of one principal.
type meter struct {
	limits Limits
	rate   *rate.Limiter // nil: no limit

	mu    sync.Mutex
	calls int // in progress
	used  time.Time
}

// maxMeters is the number of meters from which unused ones are forgotten.
const maxMeters = 10_000

func (f *Front) meterOf(id string, l Limits) *meter {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.meters[id]
	if m != nil && m.limits == l {
		return m
	}
	if len(f.meters) >= maxMeters {
		for id, m := range f.meters {
			if m.unused() {
				delete(f.meters, id)
			}
		}
	}
	m = &meter{limits: l}
	if n := l.RequestsPerMinute; n > 0 {
		m.rate = rate.NewLimiter(rate.Limit(float64(n)/60), max(1, n/10))
	}
	f.meters[id] = m
	return m
}

// unused reports whether a meter is as a new one would be.
func (m *meter) unused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls == 0 && time.Since(m.used) > 10*time.Minute
}

// late counts a request. If the principal has sent too many, it returns the time to wait.
func (m *meter) late() time.Duration {
	m.mu.Lock()
	m.used = time.Now()
	m.mu.Unlock()
	if m.rate == nil || m.rate.Allow() {
		return 0
	}
	next := m.rate.Reserve()
	defer next.Cancel()
	return max(next.Delay(), time.Millisecond)
}

// counts reports whether a request is a call, and calls are limited.
func (m *meter) counts(body []byte) bool { return m.limits.Calls > 0 && methodOf(body) == "tools/call" }

// enter reports whether one more call may be in progress. If so, leave ends it.
func (m *meter) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls >= m.limits.Calls {
		return false
	}
	m.calls++
	return true
}

func (m *meter) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls--
}

// methodOf returns the method of a message, mostly without reading the arguments behind it.
func methodOf(body []byte) (method string) {
	_ = json.Unmarshal(member(body, "method"), &method)
	return method
}

// idOf returns the id of a message, or null.
func idOf(body []byte) string {
	id := member(body, "id")
	if len(id) == 0 || len(id) > 1000 || bytes.ContainsAny(id[:1], "{[") {
		return "null"
	}
	return string(id)
}

// member returns the first member of an object with a key, or nil. The workspace refuses objects with
// repeated keys.
func member(object []byte, key string) (value json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		k, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		if k == key {
			return value
		}
	}
	return nil
}

// limitsMachine reports whether a rule limits memory or processors.
func (r *Rules) limitsMachine() bool {
	return slices.ContainsFunc(r.rules, func(one rule) bool { return one.Limits.MemoryMB > 0 || one.Limits.CPU > 0 })
}
