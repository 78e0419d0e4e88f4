//go:build !linux

package watch

import "errors"

// Reports returns false, because there is no watcher for this system.
func Reports(int) bool { return false }

type system struct{}

func open() (system, error) { return system{}, errors.ErrUnsupported }

func (system) close() error { return nil }

func (system) add(int, string) (int32, error) { return 0, errors.ErrUnsupported }

func (system) remove(int32) {}

func (system) read([]byte) ([]byte, error) { return nil, errors.ErrUnsupported }

func next([]byte) (event, []byte) { return event{}, nil }

func userLimit() int { return 0 }

func mountCount() (uint64, error) { return 0, errors.ErrUnsupported }
