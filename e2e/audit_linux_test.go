package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// limitFiles bounds how large a file the server may make, as a full disk does:
// what is beyond the limit is not written.
func (s *shellServer) limitFiles(bytes uint64) {
	s.t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		s.t.Fatal(err)
	}
}

// TestAuditFull: with --audit-required nothing is done that cannot be written
// down, from the second call on that is not; the log has whole lines only, one
// for each call that it has, and calls go on when there is room again.
func TestAuditFull(t *testing.T) {
	folder := t.TempDir()
	log := filepath.Join(folder, "audit.jsonl")
	s := startShell(t, shellOptions{asks: true, args: []string{"--audit", log, "--audit-required"}})
	write := func(name string) shellAnswer {
		return s.call("Write", map[string]any{"file_path": name, "content": "x"})
	}
	size := func() uint64 {
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		return uint64(info.Size())
	}
	done := func(name string) bool {
		_, err := os.Stat(filepath.Join(s.root, name))
		return err == nil
	}
	if a := write("before"); a.failed {
		t.Fatal(a.text)
	}
	s.limitFiles(size() + 100)
	if a := write("withheld"); !a.failed || !done("withheld") ||
		a.text != "Write: failed: what became of the call cannot be written to the audit log, so its result is not shown: writing the audit log "+log+": file too large. Do not repeat the call; ask the user to look at the audit log." {
		t.Errorf("the first call without room: %s", a.text)
	}
	for _, name := range []string{"refused", "refused again"} {
		if a := write(name); !a.failed || done(name) ||
			a.text != "Write: refused by policy: the audit log could not be written, and no call is done without. Ask the user to look at the audit log, then send this call again." {
			t.Errorf("%s: %s", name, a.text)
		}
	}
	s.limitFiles(unix.RLIM_INFINITY)
	if a := write("tried"); !a.failed || done("tried") {
		t.Errorf("the call that tries the log: %s", a.text)
	}
	for _, name := range []string{"tried", "after"} {
		if a := write(name); a.failed || !done(name) {
			t.Errorf("%s, with room again: %s", name, a.text)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var e struct {
			Outcome string
			Input   struct {
				Path string `json:"file_path"`
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%v: %q", err, line)
		}
		got = append(got, filepath.Base(e.Input.Path)+" "+e.Outcome)
	}
	want := "before ok, tried refused, tried ok, after ok"
	if strings.Join(got, ", ") != want {
		t.Errorf("the log has %q, want %s", got, want)
	}
}
