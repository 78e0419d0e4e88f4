//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module returns the folder of a dependency, for its test files. It returns "" if there
// is none, as with vendored modules.
func (c *corpus) module(path string) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		c.t.Logf("the folder of %s is not known: %v", path, err)
		return ""
	}
	return strings.TrimSpace(string(out))
}

// moduleFile returns the content of a file of a module.
func (c *corpus) moduleFile(module, name string) string {
	return readFile(c, filepath.Join(c.module(module), filepath.FromSlash(name)))
}

func (c *corpus) goroot() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	c.must(err)
	return strings.TrimSpace(string(out))
}

func readFile(c *corpus, path string) string {
	c.t.Helper()
	data, err := os.ReadFile(path)
	c.must(err)
	return string(data)
}
