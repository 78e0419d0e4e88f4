package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestHelpersStartEarly checks that supervisors start before the libraries of the server
// are initialized, which takes most of the time of a start.
func TestHelpersStartEarly(t *testing.T) {
	for _, arg := range []string{"supervise-command", "try-containment"} {
		cmd := exec.Command(binary(t), arg)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, _ := cmd.CombinedOutput() // it reports that it is not for use by hand
		if !strings.Contains(string(out), "init mcp-toolset/internal/exec/command ") || !strings.Contains(string(out), "not for use by hand") {
			t.Fatalf("%s: %s", arg, out)
		}
		for _, late := range []string{"github.com/santhosh-tekuri/jsonschema", "mcp-toolset/tools ", "net/http "} {
			if strings.Contains(string(out), "init "+late) {
				t.Errorf("%s: %s is initialized before it", arg, strings.TrimSpace(late))
			}
		}
	}
}
