package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mcp-toolset/internal/bounded"
)

// Defaults of a Config.
const (
	DefaultMaxSize  = 100 << 20
	DefaultMaxFiles = 5
	DefaultTimeout  = 2 * time.Second
)

// warnInterval is the shortest time between two warnings in the server's log.
// More warnings could fill up a full disk further.
const warnInterval = time.Minute

// Sync is a policy for syncing lines to the disk, so that they survive a power
// loss. A killed server loses no written lines under any policy.
type Sync string

// Values of Sync.
const (
	Always   Sync = "always"   // before Write returns
	Interval Sync = "interval" // at most a second after writing
	Never    Sync = "never"    // when the operating system does
)

// Config holds the location and settings of a log.
type Config struct {
	Path     string        // path of the file, which is created for this user only
	MaxSize  int64         // size in bytes at which the file is rotated; 0 means DefaultMaxSize
	MaxFiles int           // number of rotated files to retain, Path.1 being the newest; 0 means DefaultMaxFiles
	Sync     Sync          // "" means Interval
	Timeout  time.Duration // timeout of Write and Close; 0 means DefaultTimeout
	Required bool          // the result of Log.Required
	Log      *slog.Logger  // receives problems, at most once a minute; nil discards them
	Now      func() time.Time
}

// Log is an open audit log. It is safe for concurrent use, and several servers
// may use the same file.
type Log struct {
	path     string
	required bool
	log      *slog.Logger
	now      func() time.Time
	w        *writer
	close    func() error

	mu          sync.Mutex
	timeout     time.Duration
	lost        uint64
	reported    uint64    // number of lost calls that were reported
	lastWarning time.Time // time of the last report; zero if none
}

// Open opens or creates the log. It refuses links, files that are not regular,
// and files that other users can change.
func Open(c Config) (*Log, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	f := &file{path: c.Path, max: c.MaxSize, maxFiles: c.MaxFiles, durable: c.Sync != Never, log: c.Log}
	l := &Log{path: c.Path, required: c.Required, log: c.Log, now: c.Now}
	_, err := bounded.Do(context.Background(), c.Timeout, func(context.Context) (struct{}, error) { return struct{}{}, f.open() })
	if err != nil {
		return nil, fmt.Errorf("opening the audit log %s: %w", c.Path, err)
	}
	l.timeout = c.Timeout
	l.w = newWriter(f, c.Sync, c.Timeout, l.warn)
	l.close = sync.OnceValue(l.w.close)
	return l, nil
}

func (c *Config) complete() error {
	if c.Path == "" {
		return errors.New("it has no path")
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return err
	}
	c.Path = path
	switch c.Sync {
	case "":
		c.Sync = Interval
	case Always, Interval, Never:
	default:
		return fmt.Errorf("the sync policy is %q; use always, interval or never", c.Sync)
	}
	if c.MaxSize < 0 || c.MaxFiles < 0 || c.Timeout < 0 {
		return errors.New("a size, a number of files or a time is negative; use 0 for the default")
	}
	if c.MaxSize == 0 {
		c.MaxSize = DefaultMaxSize
	}
	if c.MaxFiles == 0 {
		c.MaxFiles = DefaultMaxFiles
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

// Write logs a call. It returns when the line is written as the Sync policy
// requires. It returns an error if that failed or timed out; the line may still
// be written later. A line logged before Write returns precedes the lines of
// later Writes.
//
// Write ignores ctx: cancelled calls are logged too, and Config.Timeout limits
// the wait. Write counts lost calls and warns in the server's log. The caller
// decides whether a call that is not logged may run, see Required.
func (l *Log) Write(_ context.Context, e Entry) error {
	err := l.w.write(e.line(l.now))
	if err != nil {
		err = fmt.Errorf("writing the audit log %s: %w", l.path, err)
		l.mu.Lock()
		l.lost++
		l.mu.Unlock()
		l.warn(err)
	}
	return err
}

// minSpace is the disk space that Ready requires, in bytes: a long line, and those
// of concurrent calls.
const minSpace = 1 << 20

// Ready returns the reason why a line could not be written now: the file cannot
// be opened, or the disk is full. It writes nothing, so it does not detect
// every problem. It takes no longer than Config.Timeout.
func (l *Log) Ready(ctx context.Context) error {
	_, err := bounded.Do(ctx, l.timeout, func(context.Context) (struct{}, error) {
		f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|openFlags, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return struct{}{}, nil // the file was removed and will be created again
		}
		if err != nil {
			return struct{}{}, err
		}
		defer f.Close()
		return struct{}{}, checkSpace(f, minSpace)
	})
	if err != nil {
		return fmt.Errorf("the audit log %s: %w", l.path, err)
	}
	return nil
}

// Required returns Config.Required: whether to refuse a call that cannot be
// logged.
func (l *Log) Required() bool { return l.required }

// Lost returns the number of calls that could not be logged.
func (l *Log) Lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// warn warns in the server's log of an error, and of the number of calls
// lost since the last warning.
func (l *Log) warn(err error) {
	l.mu.Lock()
	now := l.now()
	if !l.lastWarning.IsZero() && now.Sub(l.lastWarning) < warnInterval {
		l.mu.Unlock()
		return
	}
	l.lastWarning = now
	lost := l.lost - l.reported
	l.reported = l.lost
	l.mu.Unlock()
	l.log.Warn("the audit log is not complete", "path", l.path, "calls lost", lost, "error", err)
}

// Close writes the waiting lines, and gives up after Config.Timeout. Further
// calls return the same error.
func (l *Log) Close() error {
	err := l.close()
	l.mu.Lock()
	lost := l.lost - l.reported
	l.reported = l.lost
	l.mu.Unlock()
	if lost > 0 {
		l.log.Warn("the audit log is not complete", "path", l.path, "calls lost", lost)
	}
	if err != nil {
		return fmt.Errorf("closing the audit log %s: %w", l.path, err)
	}
	return nil
}
