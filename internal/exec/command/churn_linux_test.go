package command

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestNamesComeAndGo checks that names in the home folder that appear and disappear
// while a command starts do not make the start fail, and that the command is still
// confined.
func TestNamesComeAndGo(t *testing.T) {
	c, root := newCommands(t, nil)
	home := c.config.Home
	if !c.Report(t.Context()).Write.InForce() {
		t.Skip("commands are not contained here")
	}
	stop := make(chan struct{})
	var churn sync.WaitGroup
	defer churn.Wait()
	defer close(stop)
	for i := range 2 {
		churn.Go(func() {
			name := filepath.Join(home, "name"+strconv.Itoa(i))
			for {
				select {
				case <-stop:
					return
				default:
					_ = os.MkdirAll(filepath.Join(name, "in"), 0o700)
					_ = os.RemoveAll(name)
				}
			}
		})
	}
	for i := range churnCalls {
		s := Spec{Script: "echo x >" + home + "/made", Dir: root, ReadOnly: i%2 == 0}
		r, err := c.Start(t.Context(), s)
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		res := r.Result()
		text, err := os.ReadFile(r.Output.Path())
		if err != nil || res.Code == 0 || !r.Contained() || !strings.Contains(string(text), "made") {
			t.Fatalf("call %d: %+v, contained %v, %q, %v", i, res.Exit, r.Contained(), text, err)
		}
		_ = r.Output.Remove()
	}
}
