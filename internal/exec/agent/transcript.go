package agent

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/state"
)

const (
	// maxTranscript is the limit of a transcript, in bytes. After it, only the last line is added.
	maxTranscript = 16 << 20
	// maxTranscripts and maxAge are the limits of the transcripts of runs that have ended.
	maxTranscripts = 200
	maxAge         = 30 * 24 * time.Hour
	// endSize is the number of bytes at the end of a transcript that hold its last line.
	endSize = 128 << 10
)

// transcript is the record of a run: a file with a JSON object per line, redacted like the audit
// log. While the run lasts, a lock on it is held, which ends with the process.
type transcript struct {
	path string
	mu   sync.Mutex
	file *os.File
	size int
}

// newTranscript returns an empty transcript. It removes the oldest ones over the limit.
func newTranscript(folder, path string) (*transcript, error) {
	if err := errors.Join(state.EnsurePrivate(filepath.Dir(folder)), state.EnsurePrivate(folder)); err != nil {
		return nil, err
	}
	old := transcripts(folder)
	for _, path := range old[:max(0, len(old)-maxTranscripts)] {
		removeUnused(path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := filelock.TryLock(f); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return &transcript{path: path, file: f}, nil
}

// add adds a line. An error of the system ends the transcript.
func (t *transcript) add(kind string, fields map[string]any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil || t.size > maxTranscript && kind != "end" {
		return
	}
	n, err := t.file.Write(line(kind, fields))
	if t.size += n; err != nil {
		_ = t.file.Close()
		t.file = nil
	}
}

// line returns a line of a transcript.
func line(kind string, fields map[string]any) []byte {
	fields["time"], fields["type"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), kind
	return append(audit.Redact(raw(fields)), '\n')
}

func (t *transcript) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}

// transcripts returns the paths of the transcripts in a folder, from the oldest.
func transcripts(folder string) (paths []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range entries { // sorted by name, which begins with the time
		if strings.HasSuffix(e.Name(), ".jsonl") && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths
}

// Recover adds an end to the transcripts of runs whose server was killed, and returns their paths.
// It removes those over the limit of age. It does not change the transcripts of running servers.
func Recover(folder string) (lost []string) {
	for _, path := range transcripts(folder) {
		isLost, old := look(path)
		if isLost {
			lost = append(lost, path)
		}
		if old {
			removeUnused(path)
		}
	}
	return lost
}

// look adds an end to a transcript that has none, if no process writes it. old reports whether it is over
// the limit of age.
func look(path string) (lost, old bool) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return false, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !state.OwnedByUser(info) {
		return false, false
	}
	if old = time.Since(info.ModTime()) > maxAge; old || info.Size() == 0 { // empty: another server is about to lock it
		return false, old
	}
	if free, err := filelock.TryLock(f); !free || err != nil {
		return false, false
	}
	tail := make([]byte, min(info.Size(), endSize))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return false, false
	}
	whole := bytes.HasSuffix(tail, []byte("\n"))
	last := tail[bytes.LastIndexByte(bytes.TrimSuffix(tail, []byte("\n")), '\n')+1:]
	if whole && bytes.Contains(last, []byte(`"type":"end"`)) {
		return false, false
	}
	end := line("end", map[string]any{"state": "lost", "detail": "the server was killed"})
	if !whole {
		end = append([]byte("\n"), end...)
	}
	_, err = f.Write(end)
	return err == nil, false
}

// removeUnused removes a transcript, unless a process writes it.
func removeUnused(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	free, err := filelock.TryLock(f)
	_ = f.Close() // Windows removes no open file
	if free && err == nil {
		_ = os.Remove(path)
	}
}
