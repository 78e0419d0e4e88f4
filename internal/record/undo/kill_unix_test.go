//go:build linux || darwin

package undo

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/testscale"
)

// childRoot is the variable with the folder of a process that TestKilled starts.
const childRoot = "UNDO_TEST_ROOT"

func TestMain(m *testing.M) {
	after = time.Minute
	if dir := os.Getenv(childRoot); dir != "" {
		if os.Getenv("UNDO_TEST_RECORD") != "" {
			recordForever(dir)
		}
		undoForever(dir)
	}
	os.Exit(m.Run())
}

// undoForever undoes the change set 1, takes that back, and so on.
func undoForever(dir string) {
	roots, err := workspace.OpenRoots([]string{filepath.Join(dir, "root")})
	if err != nil {
		panic(err)
	}
	s := New(Options{State: filepath.Join(dir, "state"), Roots: roots, Log: slog.New(slog.DiscardHandler)})
	for n := 1; ; {
		out, err := s.Restore(context.Background(), Request{Owner: me, Numbers: []int{n}})
		if err != nil || len(out.Refused) > 0 {
			fmt.Println(err, out.Refused)
			os.Exit(1)
		}
		if out.Number == 0 { // a killed undo has left all as it was before
			fmt.Println("nothing to do")
			os.Exit(1)
		}
		n = out.Number
		fmt.Println(n)
	}
}

// TestKilled kills processes in the middle of undos. Each path is then in its old or new state, or
// missing where a folder takes the place of a file, and another undo makes everything right.
func TestKilled(t *testing.T) {
	for round := range testscale.N(4, 200) {
		t.Run(fmt.Sprint(round), func(t *testing.T) { testKilled(t, round) })
	}
}

func testKilled(t *testing.T, round int) {
	c := newScene(t)
	r := &random{rand.New(rand.NewPCG(uint64(round), 7)), c.root, "/none"}
	change := func() {
		for range 50 {
			r.change()
		}
	}
	change()
	c.write("swap/file", "a file")
	c.write("tree/a/b", "a tree")
	before := oracle(t, c.root)
	c.call(func() {
		change()
		os.RemoveAll(c.path("swap"))
		c.write("swap/file/is/a", "folder")
		os.RemoveAll(c.path("tree"))
		c.write("tree", "a file")
	})
	after := oracle(t, c.root)
	if err := c.s.Close(); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childRoot+"="+filepath.Dir(c.root))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range round % 4 {
		if !lines.Scan() || strings.Contains(lines.Text(), " ") {
			t.Fatalf("the process has ended: %s", lines.Text())
		}
	}
	<-time.After(time.Duration(10+r.IntN(100)) * time.Millisecond) // a random moment
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for path, now := range oracle(t, c.root) {
		folder := func(s string) bool { return strings.HasPrefix(s, "drwx") && strings.HasPrefix(now, "drwx") }
		same := func(s string) bool { // hard links are complete only at the end
			s, _, _ = strings.Cut(s, " = ")
			n, _, _ := strings.Cut(now, " = ")
			return s == n
		}
		if b, a := before[path], after[path]; !skipped(filepath.Base(path)) && !same(b) && !same(a) && !folder(b) && !folder(a) {
			t.Fatalf("%s is %s, neither %s nor %s", path, now, b, a)
		}
	}
	c.open()
	done := c.undo(Request{Owner: me, Numbers: []int{1}})
	if diff := cmp.Diff(before, oracle(t, c.root)); diff != "" || len(done.Refused) > 0 {
		t.Fatalf("after a kill: %s %+v", diff, done.Refused)
	}
}
