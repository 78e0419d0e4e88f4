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

// The defaults of a Config.
const (
	DefaultMaxSize = 100 << 20
	DefaultKeep    = 5
	DefaultTimeout = 2 * time.Second
)

// complainEvery is how often the log of the server is told that calls are not
// logged: a full disk would else fill it up, too.
const complainEvery = time.Minute

// Sync is when lines are made to reach the disk, so that they outlive a loss of
// power. A server that is killed loses none in any case.
type Sync string

// The policies of Sync.
const (
	Always   Sync = "always"   // before Write returns
	Interval Sync = "interval" // a second after they were written at the latest
	Never    Sync = "never"    // when the system likes
)

// Config says where the log is and what holds for it.
type Config struct {
	Path     string        // of the file, which is made for this user alone
	MaxSize  int64         // of the file in bytes, before it is rotated; 0: DefaultMaxSize
	Keep     int           // how many rotated files are kept, Path.1 being the youngest; 0: DefaultKeep
	Sync     Sync          // "": Interval
	Timeout  time.Duration // how long Write and Close take at most; 0: DefaultTimeout
	Required bool          // what Required says
	Log      *slog.Logger  // what goes wrong, at most once a minute; nil: nowhere
	Now      func() time.Time
}

// Log is an open audit log. It is safe for concurrent use, and several servers
// may have the same file.
type Log struct {
	path     string
	required bool
	log      *slog.Logger
	now      func() time.Time
	w        *writer
	close    func() error

	mu         sync.Mutex
	timeout    time.Duration
	lost       uint64
	told       uint64    // of those, how many the log was told of
	complained time.Time // when; zero: never
}

// Open opens the log, or begins it. It refuses a file that others can change or
// that is not an ordinary one, and a link.
func Open(c Config) (*Log, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	f := &file{path: c.Path, max: c.MaxSize, keep: c.Keep, durable: c.Sync != Never, log: c.Log}
	l := &Log{path: c.Path, required: c.Required, log: c.Log, now: c.Now}
	_, err := bounded.Do(context.Background(), c.Timeout, func(context.Context) (struct{}, error) { return struct{}{}, f.open() })
	if err != nil {
		return nil, fmt.Errorf("opening the audit log %s: %w", c.Path, err)
	}
	l.timeout = c.Timeout
	l.w = newWriter(f, c.Sync, c.Timeout, l.complain)
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
	if c.MaxSize < 0 || c.Keep < 0 || c.Timeout < 0 {
		return errors.New("a size, a number of files or a time is negative; use 0 for the default")
	}
	if c.MaxSize == 0 {
		c.MaxSize = DefaultMaxSize
	}
	if c.Keep == 0 {
		c.Keep = DefaultKeep
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

// Write logs a call. It returns when the line is written as the policy of Sync
// demands, or with an error when that failed or took too long; such a call may
// still be logged later. What is logged before Write returns stands before what
// is logged by a Write that is called then.
//
// That ctx has ended changes nothing: calls that were cancelled are logged, too,
// and the wait is bounded by Config.Timeout. Write counts what it could not
// write and tells the server's log. Whether a call that is not logged may be
// done is for the caller to say, see Required.
func (l *Log) Write(_ context.Context, e Entry) error {
	err := l.w.write(e.line(l.now))
	if err != nil {
		err = fmt.Errorf("writing the audit log %s: %w", l.path, err)
		l.mu.Lock()
		l.lost++
		l.mu.Unlock()
		l.complain(err)
	}
	return err
}

// room is what has to be free for a line: a long one, and those of calls that
// run beside, in bytes.
const room = 1 << 20

// Ready says why a line could not be written now, as far as that can be told
// without one: the file cannot be opened, or the disk is full. It takes no longer
// than Config.Timeout.
func (l *Log) Ready(ctx context.Context) error {
	_, err := bounded.Do(ctx, l.timeout, func(context.Context) (struct{}, error) {
		f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|openFlags, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return struct{}{}, nil // somebody took it away; it is begun anew
		}
		if err != nil {
			return struct{}{}, err
		}
		defer f.Close()
		return struct{}{}, hasRoom(f, room)
	})
	if err != nil {
		return fmt.Errorf("the audit log %s: %w", l.path, err)
	}
	return nil
}

// Required reports what Config.Required was: a call that cannot be logged is to
// be refused.
func (l *Log) Required() bool { return l.required }

// Lost is how many calls could not be logged.
func (l *Log) Lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// complain tells the server's log what is wrong, and how many calls were lost
// since it was told last.
func (l *Log) complain(err error) {
	l.mu.Lock()
	now := l.now()
	if !l.complained.IsZero() && now.Sub(l.complained) < complainEvery {
		l.mu.Unlock()
		return
	}
	l.complained = now
	lost := l.lost - l.told
	l.told = l.lost
	l.mu.Unlock()
	l.log.Warn("the audit log is not complete", "path", l.path, "calls lost", lost, "error", err)
}

// Close writes what is waiting, and gives up after Config.Timeout. Calling it
// again returns the same.
func (l *Log) Close() error {
	err := l.close()
	l.mu.Lock()
	lost := l.lost - l.told
	l.told = l.lost
	l.mu.Unlock()
	if lost > 0 {
		l.log.Warn("the audit log is not complete", "path", l.path, "calls lost", lost)
	}
	if err != nil {
		return fmt.Errorf("closing the audit log %s: %w", l.path, err)
	}
	return nil
}
