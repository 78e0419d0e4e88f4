package e2e

import (
	"mcp-toolset/internal/testscale"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// shellUser is the user of a server.
type shellUser struct {
	name string
	id   int // 0 means the user who runs the tests
}

// users returns the users that a server can run as: the one who runs the tests and, if
// that is root, an ordinary user.
func users(t *testing.T) []shellUser {
	t.Helper()
	if os.Getuid() != 0 {
		return []shellUser{{"ordinary user", 0}}
	}
	return testscale.Sample([]shellUser{{"ordinary user", 65534}, {"root", 0}}, 1)
}

// needs skips the test if the system cannot confine the user's commands.
func (u shellUser) needs(t *testing.T, s *shellServer) {
	t.Helper()
	a := s.bash("true >made")
	if a.failed {
		t.Skipf("commands of this user cannot be contained here: %s", a.text)
	}
	if contained, _ := a.meta["mcp-toolset/sandboxed"].(bool); !contained {
		t.Skip("commands of this user are not contained here")
	}
	if a := s.wait(s.begin("BashReadOnly", map[string]any{"command": "true"})); strings.Contains(a.fault, "no tool") {
		t.Skipf("this user has no BashReadOnly here: %s", a.fault)
	}
}

// shellFolder creates the folders of a server, usable by its user.
func shellFolder(t *testing.T, user int) string {
	t.Helper()
	base, err := os.MkdirTemp("", "mcp-toolset-shell")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("chmod", "-R", "u+rwX", base).Run() // Go's module cache is read-only
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"", "root", "home", "tmp"} {
		dir := filepath.Join(base, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if user != 0 {
			if err := os.Chown(dir, user, user); err != nil {
				t.Fatal(err)
			}
		}
	}
	return base
}

// shellBinary returns the product at a path where the user can run it.
func shellBinary(t *testing.T, user int) string {
	t.Helper()
	program := binary(t)
	if user == 0 {
		return program
	}
	// Not a copy: while it is written, a process that another test starts could inherit the
	// open file, and it could not be executed.
	linked := filepath.Join(shellFolder(t, 0), "mcp-toolset")
	if err := os.Link(program, linked); err != nil {
		t.Fatal(err)
	}
	return linked
}

// writeAt creates a file, owned by the owner of the folder it is below.
func writeAt(t *testing.T, path, content string) string {
	t.Helper()
	var made []string
	dir := filepath.Dir(path)
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		made = append(made, dir)
	}
	var owner syscall.Stat_t
	err := syscall.Stat(dir, &owner)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	for _, p := range append(made, path) {
		if err == nil {
			err = os.Chown(p, int(owner.Uid), int(owner.Gid))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
