package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// holder returns the name and id of the process that listens on a TCP port. It returns "" if the
// process is unknown, as for another user's, or if there are several.
func holder(port int) (process string) {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			// The columns are: sl local_address rem_address st queues timer retransmits uid timeout
			// inode.
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	if len(sockets) == 0 {
		return ""
	}
	pid := ""
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		if to, err := os.Readlink(file); err != nil || !sockets[to] {
			continue
		}
		at := strings.Split(file, "/")[2]
		if pid != "" && at != pid {
			return ""
		}
		pid = at
	}
	name, err := os.ReadFile("/proc/" + pid + "/comm")
	if pid == "" || err != nil {
		return ""
	}
	return fmt.Sprintf("%s, process %s", plain.Line(strings.TrimSpace(string(name))), pid)
}
