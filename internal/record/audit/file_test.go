package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is a timeout that only a failure or a very busy machine reaches.
const patience = time.Minute

func open(t *testing.T, c Config) *Log {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = patience
	}
	l, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func write(t *testing.T, l *Log, call string) {
	t.Helper()
	if err := l.Write(t.Context(), Entry{Call: call, Input: json.RawMessage(`{"command":"ls"}`)}); err != nil {
		t.Error(err)
	}
}

// calls returns the ids of the calls logged in a file, in order. It fails on an
// invalid line.
func calls(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		t.Errorf("%s ends in the middle of a line", path)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v in %q", path, err, line)
		}
		out = append(out, e.Call)
	}
	return out
}

func files(t *testing.T, path string) []string {
	t.Helper()
	all, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Config{Path: path, MaxSize: 1000, MaxFiles: 2})
	for i := range 100 {
		write(t, l, fmt.Sprint(i))
	}
	if all := files(t, path); len(all) != 4 {
		t.Errorf("files %q", all)
	}
	var got []string
	for _, name := range []string{path + ".2", path + ".1", path} {
		info, err := os.Stat(name)
		if err != nil || info.Size() > 1000 || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		got = append(got, calls(t, name)...)
	}
	first := 100 - len(got)
	for i, call := range got {
		if call != fmt.Sprint(first+i) {
			t.Fatalf("the last calls are %q", got)
		}
	}
	if len(got) < 15 {
		t.Errorf("only %d calls are kept", len(got))
	}
}

// TestWriters checks that no line is lost, torn or duplicated if several logs
// on one file write many concurrent calls and rotate often.
func TestWriters(t *testing.T) {
	before := goleak.IgnoreCurrent()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const logs, callers, each = 3, 8, 50
	var wg sync.WaitGroup
	var all []*Log
	for range logs {
		l, err := Open(Config{Path: path, MaxSize: 8 << 10, MaxFiles: 1000, Sync: Never, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	for i, l := range all {
		for j := range callers {
			wg.Go(func() {
				for k := range each {
					write(t, l, fmt.Sprintf("%d-%d-%d", i, j, k))
				}
			})
		}
	}
	wg.Wait()
	for _, l := range all {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	checkAll(t, path, logs*callers*each)
	goleak.VerifyNone(t, before)
}

// TestRotatedOnce checks that only one of two logs rotates a full file.
func TestRotatedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var both []*file
	for range 2 {
		d := &file{path: path, max: 10, maxFiles: 3, log: slog.New(slog.DiscardHandler)}
		if err := d.open(); err != nil {
			t.Fatal(err)
		}
		both = append(both, d)
	}
	if err := both[0].append([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	for _, d := range both {
		if err := d.rotate(3); err != nil {
			t.Error(err)
		}
		if err := d.append([]byte("{}\n")); err != nil {
			t.Error(err)
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
	if got := calls(t, path); len(got) != 2 {
		t.Errorf("%d new lines", len(got))
	}
	if all := files(t, path); len(all) != 3 {
		t.Errorf("%q", all)
	}
}

// checkAll checks that each of want calls is logged exactly once.
func checkAll(t *testing.T, path string, want int) {
	t.Helper()
	seen := map[string]bool{}
	n := 0
	names := files(t, path)
	for _, name := range names {
		if strings.HasSuffix(name, ".lock") {
			continue
		}
		for _, call := range calls(t, name) {
			if seen[call] {
				t.Errorf("%s is there twice", call)
			}
			seen[call] = true
			n++
		}
	}
	if n != want {
		t.Errorf("%d lines of %d in %d files", n, want, len(names))
	}
	if len(names) < 5 {
		t.Errorf("hardly rotated: %q", names)
	}
}

// TestKept checks that lines of an earlier server are unchanged.
func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for _, call := range []string{"a", "b"} {
		l := open(t, Config{Path: path})
		write(t, l, call)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := calls(t, path); len(got) != 2 || got[0] != "a" {
		t.Errorf("%q", got)
	}
}

// TestTornEnd checks that an incomplete last line of another server does not
// swallow the next line.
func TestTornEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(`{"time":"20`), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, Config{Path: path})
	write(t, l, "a")
	write(t, l, "b")
	data, err := os.ReadFile(path)
	lines := strings.Split(string(data), "\n")
	if err != nil || len(lines) != 4 || lines[0] != `{"time":"20` || !json.Valid([]byte(lines[1])) || !json.Valid([]byte(lines[2])) {
		t.Errorf("%v, %q", err, lines)
	}
}

// TestReplaced checks that a new file is created after the file was moved or
// removed, and that a warning is logged.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var out bytes.Buffer
	l := open(t, Config{Path: path, Log: slog.New(slog.NewTextHandler(&out, nil))})
	write(t, l, "a")
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Skip("an open file cannot be moved here:", err)
	}
	write(t, l, "b")
	if got := calls(t, path); len(got) != 1 || got[0] != "b" {
		t.Errorf("%q", got)
	}
	if !strings.Contains(out.String(), "was moved or removed") {
		t.Errorf("told %q", out.String())
	}
}

// TestNotRotated checks that a log that cannot be rotated still accepts lines,
// and that one warning is logged.
func TestNotRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.MkdirAll(filepath.Join(path+".1", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	l := open(t, Config{Path: path, MaxSize: 300, MaxFiles: 1, Log: slog.New(slog.NewTextHandler(&out, nil))})
	for i := range 20 {
		write(t, l, fmt.Sprint(i))
	}
	if got := calls(t, path); len(got) != 20 {
		t.Errorf("%q", got)
	}
	if n := strings.Count(out.String(), "is not rotated and grows"); n != 1 {
		t.Errorf("told %d times: %s", n, out.String())
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{}, "opening the audit log: it has no path"},
		{Config{Path: "a", Sync: "often"}, `opening the audit log: the sync policy is "often"; use always, interval or never`},
		{Config{Path: "a", MaxFiles: -1}, "opening the audit log: a size, a number of files or a time is negative; use 0 for the default"},
		{Config{Path: dir}, "opening the audit log DIR: it is not an ordinary file; name another"},
		{Config{Path: dir + "/no/a"}, "opening the audit log DIR/no/a: there is no folder DIR/no; make it first"},
	} {
		_, err := Open(c.config)
		if err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != filepath.FromSlash(c.want) {
			t.Errorf("%+v\nwant %s\nhave %v", c.config, c.want, err)
		}
	}
}

func TestRequired(t *testing.T) {
	for _, required := range []bool{false, true} {
		if l := open(t, Config{Path: filepath.Join(t.TempDir(), "a"), Required: required}); l.Required() != required {
			t.Errorf("%v", required)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	e := Entry{
		Call: "c1", Session: "stdio-1", Principal: "stdio", Tool: "Bash", Outcome: OK, DurationMS: 12.5, Bytes: 100,
		Input:    json.RawMessage(`{"command":"go test ./... -count=1 && git status","description":"Runs the tests"}`),
		Decision: Decision{Behavior: "allow", Layer: "rule", Rule: "Bash(go test *)", Source: "/home/u/.config/mcp-toolset/settings.json", Line: 12, Reason: "an allow rule covers the call"},
	}
	for _, parallel := range []bool{false, true} {
		b.Run(fmt.Sprintf("parallel=%v", parallel), func(b *testing.B) {
			l, err := Open(Config{Path: filepath.Join(b.TempDir(), "a"), Sync: Never})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			if parallel {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := l.Write(b.Context(), e); err != nil {
							b.Error(err)
						}
					}
				})
			} else {
				for b.Loop() {
					if err := l.Write(b.Context(), e); err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := l.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}
