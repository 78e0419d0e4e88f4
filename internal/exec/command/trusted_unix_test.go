//go:build unix

package command

import (
	"os"
	"path/filepath"
	"testing"
)

// program makes an executable file.
func program(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func TestTrusted(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, name) }
	program(t, at("sys/good"))
	program(t, at("root/bin/evil"))
	program(t, at("root/bin/tool"))
	program(t, at("open/any"))
	program(t, at("half/only"))
	program(t, at("half/file"))
	program(t, at("allowed/late"))
	program(t, at(".pyenv/shims/chosen"))
	program(t, at(".volta/bin/chosen2"))
	link(t, at(".pyenv/shims"), at("other"))
	link(t, at("root/bin/tool"), at("sys/tool"))
	link(t, "good", at("sys/alias"))
	link(t, at("root/bin"), at("sys/folder"))
	link(t, at("root/bin"), at("linked"))
	link(t, at("allowed"), at("allow"))
	if err := os.Chmod(at("open"), 0o777); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{
		Roots: []string{at("root")}, AllowWrite: []string{at("allow"), at("half/file")}, State: at("state"), Sandbox: Off,
		Environ: []string{"PATH=" + at("sys") + ":" + at("root/bin") + ":" + at("open") + ":" + at("linked") + ":" + at("half") + ":" + at("allowed") + ":" + at("other") + ":" + at(".volta/bin") + ":relative:"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, want := range map[string]bool{
		"good": true, "alias": true, at("sys/good"): true, "absent": true, "": true,
		"evil": false, "tool": false, "any": false, "only": false, "late": false, "chosen": false, "chosen2": false,
		at("root/bin/evil"): false, at("sys/tool"): false, base + "/sys/folder/../good": false, "./good": false, "sys/good": false, "../sys/good": false,
	} {
		if path, ok := c.Trusted(name); ok != want {
			t.Errorf("%q is %s, trusted %v, want %v", name, path, ok, want)
		}
	}
}
