//go:build !unix

package spool

import (
	"os"
	"time"
)

// readSome waits for output and stores it. buf is its buffer.
func (l *Log) readSome(r *os.File, buf []byte) error {
	n, err := r.Read(buf)
	l.append(buf[:n])
	return err
}

// Settle waits a fixed time, since this system does not report how much is in a pipe.
func (l *Log) Settle(wait time.Duration) { time.Sleep(min(wait, 20*time.Millisecond)) }
