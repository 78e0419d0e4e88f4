package approval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/record/state"
)

const (
	counterName = "counter"

	// lockTimeout is the timeout for a lock that another server holds. Writing a
	// small file takes less than a second. socketLockTimeout is the timeout while
	// a client waits at the socket.
	lockTimeout       = 10 * time.Second
	socketLockTimeout = time.Second
)

// nextNumber draws a number. Numbers are never reused: a user who types a
// number from an earlier message must not approve another call.
func (s *Store) nextNumber() (n int, err error) {
	path := filepath.Join(s.folder, counterName)
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	release, err := s.locks.Lock(ctx, path)
	if err != nil {
		return 0, fmt.Errorf("drawing a number: %w", err)
	}
	defer release()
	if n, err = readCounter(path); err == nil {
		// The file may have been removed while we run.
		n = max(n, int(s.last.Load())) + 1
		s.last.Store(int64(n)) // only the holder of the lock writes it
		err = state.Replace(path, []byte(strconv.Itoa(n)+"\n"))
	}
	if err != nil {
		return 0, fmt.Errorf("drawing a number: %w", err)
	}
	return n, nil
}

// readCounter returns the last number drawn.
func readCounter(path string) (int, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s holds no number; remove it to begin at 1", path)
	}
	return n, nil
}
