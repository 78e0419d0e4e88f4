//go:build unix && !linux

package hook

import "testing"

// mark would find the processes of a hook.
type mark struct{}

func newMark(*testing.T) mark        { return mark{} }
func (mark) add(*Config)             {}
func (mark) gone(*testing.T, string) {}
func (mark) kill()                   {}
