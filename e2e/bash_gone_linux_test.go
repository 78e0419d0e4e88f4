package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestClientDies checks that when its client dies, a server ends the running command and
// does not start the next one.
func TestClientDies(t *testing.T) {
	t.Parallel()
	s, mark := startShell(t, shellOptions{bare: true}), newMark()
	s.begin("Bash", map[string]any{"command": tree(mark)})
	s.begin("Bash", map[string]any{"command": "touch started"})
	atLeast(t, mark, treeSize)
	_, _ = s.in.Close(), s.out.Close() // as the kernel does for a process that died
	select {
	case <-s.ended:
	case <-time.After(deadline):
		t.Fatal("the server does not end")
	}
	noneLeft(t, mark, deadline)
	if _, err := os.Stat(filepath.Join(s.root, "started")); !os.IsNotExist(err) {
		t.Errorf("the command behind it was started (%v)", err)
	}
}

// TestSessionDeleted checks that deleting a session ends its running command and those
// waiting after it.
func TestSessionDeleted(t *testing.T) {
	t.Parallel()
	s, mark := startShellHTTP(t), newMark()
	s.open(t)
	started := filepath.Join(s.root, "started")
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 2)
	begin := func(command string) {
		go func() {
			text, err := s.call(t.Context(), "Bash", map[string]any{"command": command})
			answers <- answer{text, err}
		}()
	}
	begin(tree(mark))
	atLeast(t, mark, treeSize)
	begin("touch " + started)
	r, err := http.NewRequest(http.MethodDelete, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+wireToken)
	r.Header.Set("Mcp-Session-Id", s.session)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	noneLeft(t, mark, deadline)
	for range 2 {
		// A call that arrived after the end of the session is refused.
		if a := <-answers; a.text != "" && a.err == nil {
			t.Errorf("answered: %s", a.text)
		}
	}
	if _, err := os.Stat(started); !os.IsNotExist(err) {
		t.Errorf("the command behind it was started (%v)", err)
	}
}
