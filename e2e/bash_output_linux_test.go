package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMuchOutput checks commands with much output. The server holds little of it in
// memory. The answer has both ends and the size of the omitted part. The whole output can
// be read.
func TestMuchOutput(t *testing.T) {
	const line = "0123456789012345678901234567890123456789012345678\n" // 50 bytes
	for _, c := range []struct {
		name, command string
		head, tail    string
	}{
		{"one line", fmt.Sprintf(`printf begin; head -c %d /dev/zero | tr '\0' x; printf end`, muchOutput-8), "beginxxx", "xxxend"},
		{"lines", fmt.Sprintf("echo begin; yes %s | head -n %d; echo end", strings.TrimSpace(line), muchOutput/len(line)), "begin\n0123", line + "end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startShell(t, shellOptions{})
			s.works("true")
			before := held(t, s.cmd.Process.Pid)
			a := s.bash(c.command)
			after := held(t, s.cmd.Process.Pid)
			t.Logf("%d bytes in %v; the server held %.1f MB before, %.1f MB after", muchOutput, a.took, before, after)
			if after > before+30 {
				t.Errorf("the server held %.1f MB more", after-before)
			}
			head, rest, ok := strings.Cut(a.text, "[")
			note, tail, ok2 := strings.Cut(rest, "]\n")
			var lines, size int64
			var err error
			if c.name == "one line" {
				_, err = fmt.Sscanf(note, "%d bytes omitted:", &size)
				head = strings.TrimSuffix(head, "\n") // the note begins a line of its own
			} else {
				_, err = fmt.Sscanf(note, "%d lines (%d bytes) omitted:", &lines, &size)
			}
			if a.failed || !ok || !ok2 || err != nil {
				t.Fatalf("%v %v: %.300q ... %.300q", a.failed, err, a.text, a.text[max(0, len(a.text)-300):])
			}
			if !strings.HasPrefix(head, c.head) || !strings.HasSuffix(tail, c.tail) || len(head) > len(tail) || len(a.text) > 9000 {
				t.Errorf("%d and %d bytes: %.100q ... %.100q", len(head), len(tail), head, tail[max(0, len(tail)-100):])
			}
			checkGap(t, s, a, lines, size, head, tail)
		})
	}
}

// checkGap compares the head, the gap and the tail of an answer with the output log.
func checkGap(t *testing.T, s *shellServer, a shellAnswer, lines, size int64, head, tail string) {
	t.Helper()
	file, _ := a.meta["mcp-toolset/output_file"].(string)
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if printed := a.meta["mcp-toolset/output_bytes"]; printed != float64(len(all)) || len(all) < muchOutput {
		t.Errorf("%v bytes printed, %d stored", printed, len(all))
	}
	from := int64(len(head))
	to := from + size
	if to > int64(len(all)) || from >= to {
		t.Fatalf("the gap is %d to %d", from, to)
	}
	if n := int64(strings.Count(string(all[from:to]), "\n")); n != lines {
		t.Errorf("the gap has %d lines, and the answer names %d", n, lines)
	}
	if string(all[:from]) != head || strings.TrimSpace(string(all[to:])) != strings.TrimSpace(tail) {
		t.Errorf("head of %d bytes, gap from %d; tail of %d bytes, gap to %d of %d", len(head), from, len(tail), to, len(all))
	}
	more := s.call("TaskOutput", map[string]any{"task_id": a.task(), "offset": from})
	_, shown, _ := strings.Cut(more.text, "\n")
	if want := string(all[from : from+1000]); more.failed || !strings.HasPrefix(shown, want) {
		t.Errorf("from the gap on: %.200q, want %.200q", more.text, want)
	}
	read := s.call("Grep", map[string]any{"pattern": "end$", "path": file, "output_mode": "count"})
	if lines > 0 && read.failed {
		t.Errorf("Grep on the file: %s", read.text)
	}
}
