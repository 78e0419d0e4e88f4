//go:build unix

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// addSpecial adds files that are not regular, and links to such or to nothing.
func addSpecial(c *corpus) {
	c.special("fifo", func(path string) error { return syscall.Mkfifo(path, 0o600) })
	c.refuse("fifo", `is a named pipe, not a file\. Only regular files can be read\.`)
	c.special("sock", socket)
	c.refuse("sock", `is a socket, not a file\. Only regular files can be read\.`)
	for name, to := range map[string]string{
		"dangling": "nowhere", "loop_a": "loop_b", "loop_b": "loop_a", "self": "self", "to_dev": "/dev/zero", "to_root": "/", "dot": ".", "to_fifo": "fifo",
		"to_file": "target.txt", "up_and_down": "../" + filepath.Base(c.root) + "/target.txt", "out": "..",
	} {
		c.special(name, func(path string) error { return os.Symlink(to, path) })
	}
	c.write("target.txt", "target\n")
	c.refuse("dangling", `does not exist\. There is a link of this name that leads nowhere\.`)
	for _, name := range []string{"loop_a", "loop_b", "self"} {
		c.refused(name, `.*\$ROOT/`+name+`.* too many levels of symbolic links\. .+`)
	}
	c.refused("to_dev", `/dev/zero, where \$ROOT/to_dev leads, is in a folder of the kernel \(/proc, /sys, /dev\)\. .+`)
	c.refused("to_root", `/, where \$ROOT/to_root leads, is outside the workspace roots \(\$ROOT\)\. .+`)
	c.refused("out", `/.+, where \$ROOT/out leads, is outside the workspace roots \(\$ROOT\)\. .+`)
	c.refuse("dot", `is a directory\. Use Glob to list its files, or read a file in it; it has .+`)
	c.refused("fifo/x", `.*\$ROOT/fifo/x.* not a directory\. .+`)
	c.refuse("to_fifo", `is a named pipe, not a file\. Only regular files can be read\.`)
	c.read("to_file", numbered("target"))
	c.read("up_and_down", numbered("target"))
	c.refused("target.txt/x", `.*\$ROOT/target\.txt/x.* not a directory\. .+`)
	c.refused("../x", `/.+/x is outside the workspace roots \(\$ROOT\); approval \d+ is pending\. .+`)
	c.refused("/dev/zero", `/dev/zero is a device or belongs to a running process\. Use the path of a file\.`)
	c.refused("/proc/self/fd/0", `/proc/self/fd/0 is a device or belongs to a running process\. Use the path of a file\.`)
	c.refused("/proc/self/environ", `/proc/.+ is in a folder of the kernel \(/proc, /sys, /dev\)\. .+`)
	c.refused(`\\server\share\f`, `\\\\server\\share\\f is a network path of Windows, and this machine is not one\. .+`)
	for pages, fact := range map[string]string{"abc": `pages is "abc", which is neither a page nor a range\.`, "5-3": `pages is "5-3", which ends before it begins\.`, "0": `pages is "0", and pages count from 1\.`, "1-99": `pages is "1-99", and a call reads 20 pages at most\.`} {
		c.refused("fifo", fact+` .+`).with(`"pages":%q`, pages)
	}
	c.write("no_permission.txt", "secret\n")
	if os.Geteuid() != 0 { // root may read everything
		c.special("no_permission.txt", func(path string) error { return os.Chmod(path, 0) })
		c.refuse("no_permission.txt", `may not be read by the user the server runs as\. Ask the user to change its mode\.`)
	}
}

func (c *corpus) special(name string, make func(path string) error) {
	c.t.Helper()
	if err := make(filepath.Join(c.root, name)); err != nil {
		c.t.Fatal(err)
	}
}

// socket creates a socket without a listener. Its path may be longer than the limit of a
// socket address, so socket creates it elsewhere and moves it.
func socket(path string) error {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s")})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "s"), path)
}
