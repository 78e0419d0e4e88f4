package e2e

import (
	"bytes"
	"os"
	"testing"
)

// TestUnusedMethodsRemoved checks that the linker can remove unused exported methods. It
// removes none if text/template is reachable, which calls methods by name: the binary
// then grows by 5 MB and starts more slowly.
func TestUnusedMethodsRemoved(t *testing.T) {
	data, err := os.ReadFile(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("text/template.(*state).evalField")) {
		t.Error("the binary contains text/template; `go build -ldflags=-dumpdep . 2>&1 | grep text/template` shows who calls it")
	}
}
