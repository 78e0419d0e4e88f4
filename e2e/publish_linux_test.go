package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishHTTP checks that a server for several clients publishes only the ports that the settings
// name, each for one session. The script publish.txtar has more, over stdio.
func TestPublishHTTP(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("no perl here")
	}
	if ok, err := condition(filepath.Dir(binary(t)), "network"); err != nil || !ok {
		t.Skip("commands have no network of their own here", err)
	}
	file := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(file, []byte(`{"sandbox":{"publish":["ask",18771]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	first := serveWith(t, t.TempDir(), "--sandbox", "auto", "--mode", "default", "--settings", file).another(t)
	second := first.another(t)
	for _, w := range []*httpWire{first, second} {
		got := w.httpCall(t, "Bash", map[string]any{"command": `exec perl -MIO::Socket::INET -e '@s = map { IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1:$_") } 18771, 18772; sleep'`, "run_in_background": true})
		if got.failed {
			t.Fatal(got.text)
		}
	}
	// published waits until a port is published, and returns that of this machine.
	published := func(w *httpWire) (port int) {
		t.Helper()
		for range 60 {
			got := w.httpCall(t, "PublishPort", map[string]any{"port": 18771}).text
			if _, rest, ok := strings.Cut(got, "http://localhost:"); ok {
				if _, err := fmt.Sscanf(rest, "%d/", &port); err != nil {
					t.Fatal(got)
				}
				return port
			}
			w.httpCall(t, "Sleep", map[string]any{"duration_ms": 1000})
		}
		t.Fatal("it is not published: ", w.httpCall(t, "PublishPort", map[string]any{"port": 18771}).text)
		return 0
	}
	one, two := published(first), published(second)
	if one == two {
		t.Errorf("both sessions have port %d", one)
	}
	const refused = "PublishPort: refused by policy: the settings do not publish port 18772. Continue without it, or ask the user to add the port to sandbox.publish in the settings."
	if got := first.httpCall(t, "PublishPort", map[string]any{"port": 18772}); got.text != refused || !got.failed {
		t.Errorf("%s, not %s", got.text, refused)
	}
	open := func(port int) bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	}
	if !open(one) || !open(two) {
		t.Error("nothing listens")
	}
}
