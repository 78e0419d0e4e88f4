package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mcp-toolset/internal/bounded"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

const (
	// lookEvery is the interval at which a file is looked at.
	lookEvery = 250 * time.Millisecond
	// lookTime is the timeout for a file system to answer.
	lookTime = 10 * time.Second
	// mostAtOnce is the limit of bytes that are copied at a look.
	mostAtOnce = 32 << 20
	bufferSize = 32 << 10
	// lastSize is the limit of follower.last, in bytes.
	lastSize = 64
)

// follower copies what a file grows by into the log of a job. It opens the file at each look,
// under the rules of the call, since another file may have its name by then.
type follower struct {
	*source
	path string
	env  *tools.Env
	out  *os.File // the pipe that the log reads

	mu   sync.Mutex // held during a look, which may outlive the job
	file *os.File   // nil: there is none yet
	at   int64      // offset in the file
	last []byte     // the bytes before at, by which a file is noticed that was truncated and has grown again
	open bool       // whether what was copied ends within a line
}

// follow starts to copy what the file of the call grows by from now on. A file that does not exist
// yet, in a folder that does, is copied from its beginning.
func follow(ctx context.Context, env *tools.Env, in prepared, o Options) (*source, error) {
	f := &follower{path: in.Path, env: env}
	if _, err := bounded.Do(ctx, lookTime, func(context.Context) (none struct{}, err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var info fs.FileInfo
		f.file, info, err = env.Files.Open(in.Path)
		if errors.Is(err, fs.ErrNotExist) && file.IsFolder(env, filepath.Dir(in.Path)) && !file.IsLink(env, in.Path) {
			f.file = nil
			return none, nil
		}
		if err != nil {
			return none, err
		}
		f.at = info.Size()
		f.last = make([]byte, min(f.at, lastSize))
		_, err = f.file.ReadAt(f.last, f.at-int64(len(f.last)))
		return none, err
	}); err != nil {
		go f.close()
		return nil, file.OpenError(env, in.Path, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		f.close()
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	log, err := o.Bash.NewLog("monitor")
	if err != nil {
		f.close()
		return nil, errors.Join(fault.New("its lines cannot be stored: "+plain.Line(err.Error()), "Ask the user to look at the state folder of the server."), r.Close(), w.Close())
	}
	go func() { _ = log.Pump(r) }()
	f.out = w
	f.source = newSource(o.Running, in.limit(), log)
	f.title = plain.Line(in.Path)
	go f.run()
	return f.source, nil
}

// run copies until the job ends.
func (f *follower) run() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !closed(f.ending) {
		if _, err := bounded.Do(context.Background(), lookTime, func(context.Context) (struct{}, error) { return struct{}{}, f.look() }); err != nil {
			f.end(tasks.Failed, err.Error())
			break
		}
		select {
		case <-f.ending:
		case <-f.log.Full():
			f.end(tasks.Failed, "the file grew by more than is stored of one task")
		case <-tick.C:
		}
	}
	f.out.Close()
	<-f.log.Done()
	if f.mu.TryLock() {
		f.mu.Unlock()
		f.close()
	} else {
		go f.close() // a look hangs
	}
	f.finish()
}

func (f *follower) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		f.file.Close()
	}
}

// look copies what is new. A file that was truncated or replaced is read from its beginning;
// while there is none, it waits for one.
func (f *follower) look() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, info, err := f.env.Files.Open(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.file == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		_, err = f.copy()
		return err
	case err != nil:
		return err
	case f.file == nil:
		f.file = now
		return f.restart()
	}
	if old, err := f.file.Stat(); err == nil && os.SameFile(old, info) {
		now.Close()
		if f.changed() {
			return f.restart()
		}
		_, err = f.copy()
		return err
	}
	// First what was added before the file was replaced; the next look may have to read on.
	if end, err := f.copy(); err != nil || !end {
		return errors.Join(err, now.Close())
	}
	f.file.Close()
	f.file = now
	return f.restart()
}

// changed reports whether the open file no longer has what was copied last.
func (f *follower) changed() bool {
	now := make([]byte, len(f.last))
	_, err := f.file.ReadAt(now, f.at-int64(len(now)))
	return err != nil || !bytes.Equal(now, f.last)
}

// restart copies the file from its beginning, on a line of its own.
func (f *follower) restart() error {
	f.last = nil
	if f.at = 0; f.open {
		f.open = false
		if _, err := f.out.WriteString("\n"); err != nil {
			return err
		}
	}
	_, err := f.copy()
	return err
}

// copy copies what is new in the open file. It reports whether it reached the end.
func (f *follower) copy() (end bool, err error) {
	buf := make([]byte, bufferSize)
	for n := 0; n < mostAtOnce && !closed(f.ending); {
		m, err := f.file.ReadAt(buf, f.at)
		if m > 0 {
			if _, err := f.out.Write(buf[:m]); err != nil {
				return false, err
			}
			n, f.at, f.open = n+m, f.at+int64(m), buf[m-1] != '\n'
			f.last = append(f.last, buf[max(0, m-lastSize):m]...)
			f.last = bytes.Clone(f.last[max(0, len(f.last)-lastSize):])
		}
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		}
	}
	return false, nil
}
