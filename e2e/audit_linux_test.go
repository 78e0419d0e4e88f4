package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// limitFiles limits the size of files that the server can write, in bytes, which acts
// like a full disk: writes beyond the limit fail.
func (s *shellServer) limitFiles(bytes uint64) {
	s.t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		s.t.Fatal(err)
	}
}

// TestAuditFull checks --audit-required with a full disk. From the second call on that
// cannot be logged, no call is executed. The log holds only whole lines, one for each
// logged call, and calls work again once there is room.
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
