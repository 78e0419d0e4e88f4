package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/windows"
)

// These tests run on Windows, and under Wine:
//
//	GOOS=windows go test -c -o /tmp/process.exe ./internal/exec/process && wine /tmp/process.exe

// standIn is the first argument of a test binary that acts as a command.
const standIn = "stand-in"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == standIn {
		os.Exit(beStandIn(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

// beStandIn is the main function of a command.
func beStandIn(what string, args []string) int {
	switch what {
	case "exit":
		code, _ := strconv.Atoi(args[0])
		return code
	case "show":
		input, err := io.ReadAll(os.Stdin)
		dir, _ := os.Getwd()
		fmt.Printf("%q %q %v %s %s\n", args, input, err, os.Getenv("STAND_IN"), dir)
		fmt.Fprintln(os.Stderr, "to standard error")
	case "tree": // depth of descendants, each of which prints its id
		fmt.Println(os.Getpid())
		depth, _ := strconv.Atoi(args[0])
		if depth > 0 {
			spawnOne(strconv.Itoa(depth-1), uint32(depth%2)*windows.DETACHED_PROCESS)
		}
		time.Sleep(10 * failTime) // ends when killed
	case "leave":
		spawnOne("0", windows.CREATE_NEW_PROCESS_GROUP)
	case "break": // outside of the job
		if err := spawnOne("0", windows.CREATE_BREAKAWAY_FROM_JOB); err != nil {
			fmt.Println("refused")
		}
	case "server":
		return beServer(args[0])
	}
	return 0
}

// spawnOne starts a command of a tree and waits until it runs.
func spawnOne(depth string, flags uint32) error {
	cmd := exec.Command(os.Args[0], standIn, "tree", depth)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: flags}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	in := bufio.NewReader(out)
	n, _ := strconv.Atoi(depth)
	for range n + 1 {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		fmt.Print(line)
	}
	return nil
}

// beServer starts a tree with a Runner and then waits to be killed.
func beServer(depth string) int {
	p, err := NewRunner(Config{}).Start(context.Background(), Spec{
		Args: []string{os.Args[0], standIn, "tree", depth}, Dir: os.TempDir(), Env: os.Environ(), Output: os.Stdout,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	p.Wait()
	return 0
}

// output collects the lines from a pipe.
type output struct {
	w     *os.File
	lines chan string
}

func newOutput(t *testing.T) *output {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &output{w: w, lines: make(chan string, 1000)}
	go func() {
		defer close(o.lines)
		defer r.Close()
		for s := bufio.NewScanner(r); s.Scan(); {
			o.lines <- strings.TrimSuffix(s.Text(), "\r")
		}
	}()
	return o
}

// all waits until no process has the other end open, and returns all lines.
func (o *output) all(t *testing.T) (all []string) {
	t.Helper()
	for {
		select {
		case line, ok := <-o.lines:
			if !ok {
				return all
			}
			all = append(all, line)
		case <-time.After(failTime):
			t.Fatal("somebody still has the pipe")
		}
	}
}

// processes reads the ids of n processes and opens the processes.
func (o *output) processes(t *testing.T, n int) (all []windows.Handle) {
	t.Helper()
	for range n {
		select {
		case line := <-o.lines:
			pid, err := strconv.Atoi(line)
			if err != nil {
				t.Fatalf("%q is not the number of a process", line)
			}
			h, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
			if err != nil {
				t.Fatalf("opening process %d: %v", pid, err)
			}
			t.Cleanup(func() { _ = windows.CloseHandle(h) })
			all = append(all, h)
		case <-time.After(failTime):
			t.Fatal("a process does not start")
		}
	}
	return all
}

// failTime is a timeout that only failures reach.
const failTime = time.Minute

// runs reports whether a process is still running after wait.
func runs(h windows.Handle, wait time.Duration) bool {
	event, err := windows.WaitForSingleObject(h, uint32(wait.Milliseconds()))
	return err != nil || event != windows.WAIT_OBJECT_0
}

func pid(t *testing.T, h windows.Handle) uint32 {
	t.Helper()
	id, err := windows.GetProcessId(h)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// tempDir is like t.TempDir, whose cleanup fails under Wine.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "process-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
