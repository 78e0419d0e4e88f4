package worklist

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// childState is the variable with the state folder of a process that TestKilled starts.
const childState = "WORKLIST_TEST_STATE"

func TestMain(m *testing.M) {
	if state := os.Getenv(childState); state != "" {
		addForever(state)
	}
	os.Exit(m.Run())
}

// addForever adds items, and prints the id of each once it is stored.
func addForever(state string) {
	s := newShared(state)
	for {
		id := 0
		if err := s.Update(context.Background(), func(l *List) error {
			it, err := l.Create(Draft{Subject: "a", Description: strings.Repeat("x", 3000)})
			id = it.ID
			if len(l.Items) > 50 { // so that the size stays the same
				_, err = l.Update(Change{ID: strconv.Itoa(l.Items[0].ID), Status: Deleted}, "")
			}
			return err
		}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(id)
	}
}

// TestKilled kills processes while they change a list. The list is then as it was after the
// last change that was answered, or after the next one, and it can be changed.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state")
	s := newShared(state)
	last := 0
	for round := range testscale.N(10, 300) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childState+"="+state)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		// The number of answers differs, so that the kill comes at different moments.
		for range 1 + round%7 {
			if !lines.Scan() {
				t.Fatal("the process has ended")
			}
			if last, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(lines.Text())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it printed before it was killed
			if last, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(lines.Text())
			}
		}
		_ = cmd.Wait() // it was killed
		l := read(t, s)
		if l.Last != last && l.Last != last+1 {
			t.Fatalf("after %d was stored, the last is %d", last, l.Last)
		}
		if it := l.Items[len(l.Items)-1]; it.ID != l.Last || len(it.Description) != 3000 {
			t.Fatalf("the last item is %d with %d characters", it.ID, len(it.Description))
		}
		add(t, s, "b")
	}
}
