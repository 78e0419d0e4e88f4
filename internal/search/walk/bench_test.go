package walk

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"mcp-toolset/internal/search/ignore"
)

// benchTree returns the tree to measure with: $WALK_TREE or the Go distribution.
func benchTree(b *testing.B) string {
	if dir := os.Getenv("WALK_TREE"); dir != "" {
		return dir
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip("no Go distribution:", err)
	}
	return strings.TrimSpace(string(root))
}

// benchOptions returns options with the rules of package ignore.
func benchOptions() Options {
	rules := IgnoreRules(ignore.Top(nil))
	return Options{Above: func() Rules { return rules }}
}

func BenchmarkFirst(b *testing.B) {
	dir := benchTree(b)
	for b.Loop() {
		l := refresh(b, New(opener(dir), benchOptions()))
		b.ReportMetric(float64(l.Files), "files")
		b.ReportMetric(float64(len(l.Dirs)), "folders")
	}
}

// BenchmarkRipgrep lists the same tree for comparison.
func BenchmarkRipgrep(b *testing.B) {
	rg := os.Getenv("RIPGREP")
	if rg == "" {
		var err error
		if rg, err = exec.LookPath("rg"); err != nil {
			b.Skip("no ripgrep:", err)
		}
	}
	dir := benchTree(b)
	for b.Loop() {
		out, err := exec.Command(rg, "--files", "--hidden", "--no-require-git", "--no-ignore-parent", "-g", "!.git", dir).Output()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(bytes.Count(out, []byte("\n"))), "files")
	}
}

func BenchmarkAgain(b *testing.B) {
	t := New(opener(benchTree(b)), benchOptions())
	first := refresh(b, t)
	for b.Loop() {
		if refresh(b, t) != first {
			b.Fatal("the tree changed meanwhile")
		}
	}
}

func BenchmarkStat(b *testing.B) {
	l := refresh(b, New(opener(benchTree(b)), benchOptions()))
	var stamps []Stamp
	for b.Loop() {
		var err error
		if stamps, err = l.Stat(b.Context(), stamps); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemory reports the memory of a listing and of the whole Tree.
func BenchmarkMemory(b *testing.B) {
	dir := benchTree(b)
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		t := New(opener(dir), benchOptions())
		refresh(b, t)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		runtime.KeepAlive(t)
	}
}

// BenchmarkVouched is Again and Stat together, with a watcher.
func BenchmarkVouched(b *testing.B) {
	o := benchOptions()
	o.Watch = true
	t := New(opener(benchTree(b)), o)
	defer t.Close()
	if err := t.StartWatching(b.Context()); err != nil {
		b.Skip(err)
	}
	first := refresh(b, t)
	for b.Loop() {
		if l := refresh(b, t); l != first {
			b.Fatal("the tree changed meanwhile")
		}
		if _, err := t.Stamps(b.Context(), first); err != nil {
			b.Fatal(err)
		}
	}
	if !t.Covered() || !t.watching.memory.on {
		b.Error("not vouched for")
	}
}

// BenchmarkStartWatching measures the work done once, in the background.
func BenchmarkStartWatching(b *testing.B) {
	o := benchOptions()
	o.Watch = true
	dir := benchTree(b)
	for b.Loop() {
		b.StopTimer()
		t := New(opener(dir), o)
		refresh(b, t)
		b.StartTimer()
		if err := t.StartWatching(b.Context()); err != nil {
			b.Skip(err)
		}
		b.StopTimer()
		b.ReportMetric(float64(t.watching.watcher.Len()), "watches")
		t.Close()
		b.StartTimer()
	}
}
