package server

// The body of an HTTP request is read within limits of size and time, and
// within a limit on the memory of all requests together.

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	maxBody = 16 << 20 // bytes of one request

	// maxBodies limits the bytes that the bodies of requests in progress use.
	// Bodies up to smallBody have a part of their own, so that a cancel gets
	// through when large bodies use all the rest.
	maxBodies      = 256 << 20
	smallBody      = 64 << 10
	maxSmallBodies = 32 << 20
	// maxParsing limits the number of larger bodies that are parsed at once.
	// Parsing needs several times the size of a body.
	maxParsing = 2
	// firstBody is the initial capacity of a body. Most messages fit.
	firstBody = 4 << 10
	// oneByte is the timeout for one more byte of a body for which there was no
	// room.
	oneByte = 200 * time.Millisecond
	// bodyRetry is the value of Retry-After, in seconds, if there was no room.
	bodyRetry = "1"
)

// bodyBudget is the number of bytes that further bodies may use.
type bodyBudget struct {
	mu           sync.Mutex
	small, large int

	parsing chan struct{} // one element for each larger body being parsed
}

func newBodyBudget(small, large int) *bodyBudget {
	return &bodyBudget{small: small, large: large, parsing: make(chan struct{}, maxParsing)}
}

// counter returns the part that a buffer of n bytes counts towards. The caller
// holds mu.
func (m *bodyBudget) counter(n int) *int {
	if n <= smallBody {
		return &m.small
	}
	return &m.large
}

func (m *bodyBudget) acquire(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	from := m.counter(n)
	if *from < n {
		return false
	}
	*from -= n
	return true
}

func (m *bodyBudget) release(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*m.counter(n) += n
}

var errNoBudget = errors.New("requests in progress take all the memory there is for them")

// body holds the bytes of a request's body that have arrived. It takes room as
// it grows, so a body that is announced but not sent uses almost none.
type body struct {
	budget *bodyBudget
	data   []byte // its whole capacity is taken from room
}

// release gives the room back. The data must not be used afterwards.
func (b *body) release() {
	b.budget.release(cap(b.data))
	b.data = nil
}

// grow enlarges the buffer. expected is the announced size, or negative if
// unknown.
func (b *body) grow(expected int64) error {
	n := max(firstBody, 2*cap(b.data))
	if want := int(min(expected, maxBody)) + 1; want > len(b.data) { // plus one byte to detect the end
		n = min(n, max(want, firstBody))
	}
	if !b.budget.acquire(n) {
		return errNoBudget
	}
	data := make([]byte, len(b.data), n)
	copy(data, b.data)
	b.budget.release(cap(b.data))
	b.data = data
	return nil
}

// readFrom reads to the end of r.
func (b *body) readFrom(r io.Reader, expected int64) error {
	for {
		if len(b.data) == cap(b.data) {
			if err := b.grow(expected); err != nil {
				return err
			}
		}
		n, err := r.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readBody reads a request's body. The caller must release the body at the end
// of the request, even after a failure.
func readBody(w http.ResponseWriter, r *http.Request, from *bodyBudget, timeout time.Duration) (*body, *httpFailure) {
	b := &body{budget: from}
	tooLong := &httpFailure{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the body is over %d MiB", maxBody>>20)}
	if r.ContentLength > maxBody {
		return b, tooLong
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(timeout))
	err := b.readFrom(http.MaxBytesReader(w, r.Body, maxBody), r.ContentLength)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return b, tooLong
	case errors.Is(err, errNoBudget):
		b.release()
		// After a read beyond the limit, net/http closes the connection, with a
		// short delay for a client that is still sending. Without the delay,
		// the system might drop the answer because of the unread bytes.
		_ = rc.SetReadDeadline(time.Now().Add(oneByte))
		_, _ = http.MaxBytesReader(w, r.Body, 0).Read(make([]byte, 1))
		return b, &httpFailure{status: http.StatusServiceUnavailable, rpc: &rpcError{
			code: codeOverload, text: err.Error() + "; send this one again when some are answered"}}
	case err != nil:
		return b, &httpFailure{status: http.StatusRequestTimeout, text: "the body did not arrive"}
	}
	_ = rc.SetReadDeadline(time.Time{}) // only now: the rest of a slow body must not be waited for
	return b, nil
}
