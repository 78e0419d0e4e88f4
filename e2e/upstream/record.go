// Files in which tests observe the server.

package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// pace is the interval between two checks of a file.
const pace = 5 * time.Millisecond

// addLine appends a line to a file in one write, so that several processes may do so.
func addLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.TrimSpace(line) + "\n")
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// logged returns a reader of r that also appends each whole line to the file.
func logged(r io.Reader, file string) io.Reader {
	if file == "" {
		return r
	}
	return &lineLog{r: r, file: file}
}

type lineLog struct {
	r    io.Reader
	file string
	part []byte
}

func (l *lineLog) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.part = append(l.part, p[:n]...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole {
			return n, err
		}
		l.part = rest
		if problem := addLine(l.file, string(line)); problem != nil {
			return n, problem
		}
	}
}

// loggedHTTP appends the body of each request to the file.
func loggedHTTP(next http.Handler, file string) http.Handler {
	if file == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && len(body) > 0 {
			err = addLine(file, string(body))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
