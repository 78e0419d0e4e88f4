//go:build unix

package cli

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// showOnSignal writes the live view to w at each SIGUSR1, until stop is called.
func (a *app) showOnSignal(w io.Writer) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for {
			select {
			case <-signals:
				_, _ = io.WriteString(w, a.figures.Live())
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(signals); close(done) }
}

// apart makes a command the first of a session, so that keys in the terminal do not end it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
