//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestProc reads files of the kernel: none has a size, some never end, and some are the
// memory of another process.
func TestProc(t *testing.T) {
	c := newCorpus(t)
	c.write("settings.json", `{"permissions":{"allow":["Read(//proc/**)","Read(//sys/**)","Read(//dev/**)"]}}`)
	s := startCorpus(t, c.root, "--read-dedup", "off", "--settings", filepath.Join(c.root, "settings.json"))
	proc := fmt.Sprintf("/proc/%d", s.cmd.Process.Pid)
	for _, dir := range []string{"/proc/self", proc} {
		c.read(dir+"/status", `1\tName:\tmcp-toolset\n.+`)
		c.read(dir+"/maps", `1\t[0-9a-f]+-[0-9a-f]+ .+`)
		c.read(dir+"/maps", `2\t[0-9a-f]+-[0-9a-f]+ .+\n\[line 2 of \d+\]`).with(`"offset":2,"limit":1`)
		c.read(dir+"/comm", numbered("mcp-toolset"))
		// NUL bytes separate its words.
		c.refused(dir+"/cmdline", `/proc/\w+/cmdline is a binary file \(of no known type\)( of [1-9]\d* bytes)?\. .+`)
		c.refused(dir+"/mem", `/proc/\w+/mem is a device or belongs to a running process\. .+`)
		c.refused(dir+"/fd/0", `/proc/\w+/fd/0 is a device or belongs to a running process\. .+`)
		c.refused(dir+"/fd", `/proc/\w+/fd is a directory\. .+`)
		c.refused(dir+"/task/1/mem", `/proc/\w+/task/1/mem is a device or belongs to a running process\. .+`)
		c.refused(dir+"/cwd", `.+ is (a directory|outside the workspace roots|in a folder of the kernel).+`)
	}
	c.read("/proc/meminfo", `1\tMemTotal: .+`)
	c.read("/proc/cpuinfo", `1\t.+`)
	c.read("/proc/version", `1\tLinux version .+`)
	c.refused("/proc/kmsg", `/proc/kmsg is a device or belongs to a running process\. .+`)
	c.refused("/proc/kcore", `/proc/kcore is a device or belongs to a running process\. .+`)
	c.refused("/proc/999999999/status", `/proc/999999999/status does not exist\. .+`)
	c.refused("/dev/zero", `/dev/zero is a device or belongs to a running process\. .+`)
	c.refused("/dev/./urandom", `/dev/urandom is a device or belongs to a running process\. .+`)
	for _, device := range []string{"/dev/ptmx", "/dev/loop0", "/dev/vda", "/dev/sda"} {
		if _, err := os.Stat(device); err == nil {
			c.refused(device, device+` is a .+\. (Only|Use) .+`)
		}
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err == nil {
		c.read("/sys/kernel/mm/transparent_hugepage/enabled", `1\t.*never.*`)
	}
	for _, x := range c.samples {
		c.check(x, s.call(x.arguments()))
	}
	s.stop()
}

// TestStopWhileReading checks that a server that is stopped while it reads documents
// shuts down and leaves no process.
func TestStopWhileReading(t *testing.T) {
	c := newCorpus(t)
	c.write("a.pdf", pdfOf(strings.Split(strings.Repeat(scan+"\n", 10), "\n")[:10]...)) // takes seconds
	s := startCorpus(t, c.root)
	for range atOnce {
		s.send("tools/call", `{"name":"Read","arguments":{"file_path":"a.pdf"}}`)
	}
	s.eventually("a document is being read", func() bool { return s.documents() > 0 })
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.ended()
}
