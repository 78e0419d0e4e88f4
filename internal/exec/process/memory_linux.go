package process

import (
	"os"
	"strconv"
	"strings"
)

// Memory returns the resident memory of the command and of all processes it started, in
// bytes, without the pages of files and those that several processes share. It returns 0 if
// the processes have ended.
func (p *Process) Memory() int64 {
	if p.isDone() {
		return 0
	}
	pages := int64(0)
	for _, d := range descendants(p.sup.child.pid()) {
		// The format is "size resident shared ...", in pages.
		data, _ := os.ReadFile("/proc/" + strconv.Itoa(d.pid) + "/statm")
		if fields := strings.Fields(string(data)); len(fields) > 2 {
			resident, _ := strconv.ParseInt(fields[1], 10, 64)
			shared, _ := strconv.ParseInt(fields[2], 10, 64)
			pages += resident - shared
		}
	}
	return pages * int64(os.Getpagesize())
}
