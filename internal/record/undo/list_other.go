//go:build !linux && !darwin

package undo

import (
	"context"
	"errors"
	"time"
)

// Commands reports whether changes of commands can be recorded on this system. Here, files
// have no times of change that programs cannot set.
const Commands = false

func list(context.Context, []string, []string, *tree) (*tree, error) {
	return nil, errors.ErrUnsupported
}

// fetcher reads nothing here.
type fetcher struct{ roots []string }

func (f *fetcher) close()                                      {}
func (f *fetcher) file(string, stamp) (data []byte, ok bool)   { return nil, false }
func (f *fetcher) link(string, stamp) (target string, ok bool) { return "", false }

func (s *stamp) fill(any) {}

func stampNow() int64 { return time.Now().UnixNano() }

func born(string) (at time.Time, ok bool) { return at, false }
