//go:build unix

package launch

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestStartLateGroup checks that a process that starts too late is killed together with
// the processes of its group. They hold the write end of a pipe.
func TestStartLateGroup(t *testing.T) {
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo started; wait")
	cmd.Stdout = writing
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ctx, cancel := context.WithCancel(t.Context())
	lines, over := bufio.NewReader(reading), make(chan struct{})
	_ = start(ctx, cmd, func() error {
		err := cmd.Start()
		writing.Close()
		if _, failed := lines.ReadString('\n'); failed != nil {
			t.Error(failed)
		}
		cancel()
		for abandoned.Load() == 0 { // until the start is abandoned
			time.Sleep(time.Millisecond)
		}
		return err
	}, func() { close(over) })
	<-over
	_ = reading.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := lines.ReadByte(); err != io.EOF {
		t.Errorf("a process of the group runs: %v", err)
	}
}
