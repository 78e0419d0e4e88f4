package document

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// self describes a process, as read by itself.
type self struct {
	Name, Listed, OOM                string
	Core, FileSize, Files, CPU, Data uint64
	OwnGroup                         bool
}

func init() {
	badKinds["self"] = func(in *os.File, q request) (any, error) {
		limit := func(resource int) uint64 {
			var l syscall.Rlimit
			_ = syscall.Getrlimit(resource, &l)
			return l.Max
		}
		text := func(path string) string {
			data, _ := os.ReadFile(path)
			return strings.TrimSpace(string(data))
		}
		return self{
			Name:     strings.Split(text("/proc/self/cmdline"), "\x00")[0],
			Listed:   text("/proc/self/comm"),
			OOM:      text("/proc/self/oom_score_adj"),
			Core:     limit(syscall.RLIMIT_CORE),
			FileSize: limit(syscall.RLIMIT_FSIZE),
			Files:    limit(syscall.RLIMIT_NOFILE),
			CPU:      limit(syscall.RLIMIT_CPU),
			Data:     limit(syscall.RLIMIT_DATA),
			OwnGroup: syscall.Getpgrp() == os.Getpid(),
		}, nil
	}
}

// The kernel has the intended limits, and the process is listed under the name of the
// program.
func TestSystemLimits(t *testing.T) {
	r, _ := testReader(t, maxMemory, maxTime)
	got, err := read[self](t.Context(), r, tempFile(t, nil), request{Kind: "self", Memory: 100_000_000})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(exe)
	want := self{
		Name: exe, Listed: name[:min(len(name), 15)], OOM: "1000",
		Core: 0, FileSize: 64 << 20, Files: 32, CPU: 61, Data: 200_000_000 + 256<<20,
		OwnGroup: true,
	}
	if raceDetector {
		want.Data = got.Data
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Upgrading or removing the program does not affect a running server.
func TestRemovedProgram(t *testing.T) {
	link := filepath.Join(t.TempDir(), "server")
	if err := os.Link(os.Args[0], link); err != nil {
		t.Skip(err)
	}
	server := exec.Command(link, parentArg, "value", time.Minute.String(), "removed")
	server.Stdin = tempFile(t, nil)
	if out, err := server.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Lstat(link); err == nil {
		t.Error("the program is still there: nothing was tested")
	}
}
