package process

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// TestOwn checks that a server's own processes and threads are recognised by their
// ids.
func TestOwn(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 20)
	n, _ := out.Read(text)
	below, err := strconv.Atoi(string(text[:max(n-1, 0)]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(below); err == nil {
			_ = p.Kill()
		}
		_ = in.Close()
		_ = cmd.Wait()
	})
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	own := []string{strconv.Itoa(below), "00" + strconv.Itoa(cmd.Process.Pid)}
	for _, thread := range threads {
		own = append(own, thread.Name())
	}
	for _, number := range own {
		if !Own(number) {
			t.Errorf("%s is not known as our own", number)
		}
	}
	for _, number := range []string{"0", "1", "-1", "x", "", strconv.Itoa(os.Getppid())} {
		if Own(number) {
			t.Errorf("%s is taken for our own", number)
		}
	}
}
