package lsp

import (
	"io"
	"strings"
	"sync"
)

// maxWords is the limit of the standard error of a server that is stored, in bytes.
const maxWords = 2 << 10

// words stores the end of the standard error of a server.
type words struct {
	mu   sync.Mutex
	text []byte
	done chan struct{} // closed at the end
}

func (w *words) read(from io.Reader) {
	defer close(w.done)
	buf := make([]byte, 8<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		w.text = append(w.text, buf[:n]...)
		if over := len(w.text) - maxWords; over > 0 {
			w.text = append(w.text[:0], w.text[over:]...)
		}
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// last returns the last lines, at most 300 bytes.
func (w *words) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(w.text), ""))
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[len(text)-300:], "")
	}
	return text
}
