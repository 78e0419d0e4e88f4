package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newTerminal returns a pseudo terminal: text written to keys is read from tty.
func newTerminal(t *testing.T) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return keys, tty
}

// TestTrustAsks checks that a user at a terminal sees all of the settings, with nothing that
// controls the terminal, and has to agree.
func TestTrustAsks(t *testing.T) {
	for answer, want := range map[string]int{"y": exitOK, "YES": exitOK, "": exitError, "n": exitError, "yess": exitError, "Y\x04": exitOK} {
		env := map[string]string{}
		h := host(t, env)
		env["MCP_TOOLSET_STATE_DIR"] = filepath.Join(h.Dir, "state")
		if err := os.Mkdir(filepath.Join(h.Dir, ".mcp-toolset"), 0o755); err != nil {
			t.Fatal(err)
		}
		text := `{"permissions": {"allow": ["Bash(x\u001b[2K)"], "deny": ["Read"]}}`
		if err := os.WriteFile(filepath.Join(h.Dir, ".mcp-toolset/settings.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		keys, tty := newTerminal(t)
		h.In = tty
		if _, err := keys.WriteString(answer + "\n"); err != nil {
			t.Fatal(err)
		}
		code := Main([]string{"trust"}, h)
		out := h.Out.(*bytes.Buffer).String()
		if code != want || !strings.Contains(out, "  line 1    permissions.allow: \"Bash(x\\x1b[2K)\"\nTrust it? [y/N] ") {
			t.Errorf("%q: %d, %s, %s", answer, code, out, h.Err)
		}
		_, err := os.Stat(filepath.Join(h.Dir, "state/trust.json"))
		if (err == nil) != (want == exitOK) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}
