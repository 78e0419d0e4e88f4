package process

import (
	"errors"
	"testing"
)

// TestMarkOfSession checks that a command is searched for in the job object of its
// own session, which is never made for another session.
func TestMarkOfSession(t *testing.T) {
	broken := errors.New("broken")
	m := marks[string]{
		own: 1, sid: "S-1-5-21-7",
		make: func() (string, error) { return markName(1, "S-1-5-21-7"), nil },
		open: func(name string) (string, bool, error) {
			switch name {
			case `Global\mcp-toolset-commands-0-S-1-5-21-7`:
				return name, true, nil
			case `Global\mcp-toolset-commands-3-S-1-5-21-7`:
				return "", false, broken
			}
			return "", false, nil
		},
		session: func(pid uint32) (uint32, error) {
			if pid == 99 {
				return 0, broken
			}
			return pid / 10, nil
		},
	}
	for pid, want := range map[uint32]struct {
		mark      string
		other, ok bool
		err       error
	}{
		10: {`Global\mcp-toolset-commands-1-S-1-5-21-7`, false, true, nil},
		1:  {`Global\mcp-toolset-commands-0-S-1-5-21-7`, true, true, nil},
		20: {"", false, false, nil},
		30: {"", false, false, broken},
		99: {"", false, false, broken},
	} {
		if mark, other, ok, err := m.of(pid); mark != want.mark || other != want.other || ok != want.ok || err != want.err {
			t.Errorf("process %d: %q, %v, %v, %v", pid, mark, other, ok, err)
		}
	}
}
