//go:build unix

package hook

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a Runner with its own folder.
type world struct {
	spill func(name, text string) (string, error)
	*Runner
	dir string
	log *logText
}

func newWorld(t *testing.T, change ...func(*Config)) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{dir: dir, log: &logText{}}
	cfg := Config{
		Environ:    []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"},
		ProjectDir: "/project",
		Log:        slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&cfg)
	}
	w.Runner = New(cfg)
	return w
}

func failClosed(c *Config) { c.FailClosed = true }

func (w world) input() Input {
	return Input{Dir: w.dir, Tool: "T", ToolInput: []byte(`{}`), Spill: w.spill}
}

// run runs commands with a timeout of a minute, which none of them reaches.
func (w world) run(t *testing.T, event Event, commands ...string) Verdict {
	t.Helper()
	return w.Run(t.Context(), event, hooks(time.Minute, commands...), w.input())
}

func hooks(timeout time.Duration, commands ...string) []Hook {
	var list []Hook
	for _, c := range commands {
		list = append(list, Hook{Command: c, Timeout: timeout, Source: "/s.json"})
	}
	return list
}

// prints returns a command that prints a text.
func prints(text string) string { return "printf %s '" + text + "'" }

func readFile(t *testing.T, elements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// logText is a log that tests can read.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) has(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, word := range words {
		if !strings.Contains(l.text.String(), word) {
			return false
		}
	}
	return true
}
