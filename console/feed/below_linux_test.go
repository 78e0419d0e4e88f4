package feed

import (
	"os"
	"os/exec"
	"testing"

	"mcp-toolset/internal/consent/socket"
)

// TestBelow checks that a process that the server has started can neither ask nor watch.
func TestBelow(t *testing.T) {
	w := newWorld(t, Parts{})
	r := w.remote()
	for _, args := range [][]string{{os.Args[0]}, {"setsid", "-w", os.Args[0]}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "FEED_CHILD="+r.Folder)
		out, err := cmd.CombinedOutput()
		refused := socket.ErrBelow.Error() + ". Start the console in a terminal of your own.\n"
		if string(out) != refused+refused || err != nil {
			t.Errorf("%s: %s, %v", args[0], out, err)
		}
	}
}
