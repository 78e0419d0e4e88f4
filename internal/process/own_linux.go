package process

import (
	"os"
	"strconv"
)

// Own reports whether a number is that of this process, of a thread of it, or of
// a process that it has started, however far down.
func Own(number string) bool {
	pid, err := strconv.Atoi(number)
	for range 1000 { // processes may change meanwhile
		if err != nil || pid <= 0 {
			return false
		}
		if pid == os.Getpid() {
			return true
		}
		if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(pid)); err == nil {
			return true
		}
		p, ok := look(pid)
		if !ok {
			return false
		}
		pid = p.parent
	}
	return false
}
