package process

import (
	"os"
	"strconv"
)

// Own reports whether number is the id of this process, of one of its threads, or
// of a descendant of this process.
func Own(number string) bool {
	pid, err := strconv.Atoi(number)
	for range 1000 { // bounded, since processes may change meanwhile
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
