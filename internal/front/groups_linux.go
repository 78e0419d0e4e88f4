package front

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// groups makes control groups of version 2, whose files are described in the kernel's
// Documentation/admin-guide/cgroup-v2.rst.
type groups struct{ folder string }

// leaf is the group of the front: a group with groups in it cannot have processes.
const leaf = "front"

// period is the time in which a group may use its share of processors, in microseconds.
const period = 100_000

// openGroups moves this process into a group below its own, and prepares the latter for those of
// workspaces. mount is the folder of all groups, and self the file that names that of this process.
func openGroups(mount, self string) (*groups, error) {
	text, err := os.ReadFile(self)
	if err != nil {
		return nil, err
	}
	path, ok := "", false
	for line := range strings.Lines(string(text)) {
		if path, ok = strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			break
		}
	}
	g := &groups{filepath.Join(mount, strings.TrimSuffix(path, "/"+leaf))}
	have, err := os.ReadFile(filepath.Join(g.folder, "cgroup.controllers"))
	if !ok || err != nil {
		return nil, errors.New("there is none of version 2 here")
	}
	for _, name := range []string{"memory", "cpu"} {
		if !contains(strings.Fields(string(have)), name) {
			return nil, fmt.Errorf("%s has no controller %s", g.folder, name)
		}
	}
	own := filepath.Join(g.folder, leaf)
	if err := os.Mkdir(own, 0o755); err != nil && !os.IsExist(err) {
		return nil, err
	}
	if err := put(own, "cgroup.procs", strconv.Itoa(os.Getpid())); err != nil {
		return nil, err
	}
	return g, put(g.folder, "cgroup.subtree_control", "+memory +cpu")
}

// of makes the group of a workspace and opens its folder.
func (g *groups) of(name string, l Limits) (*os.File, error) {
	dir := filepath.Join(g.folder, "workspace-"+name)
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("making a control group: %w", err)
	}
	memory, cpu := "max", "max"
	if l.MemoryMB > 0 {
		memory = strconv.Itoa(l.MemoryMB << 20)
	}
	if l.CPU > 0 {
		cpu = strconv.Itoa(max(1000, int(l.CPU*period)))
	}
	if err := errors.Join(put(dir, "memory.max", memory), put(dir, "cpu.max", cpu+" "+strconv.Itoa(period))); err != nil {
		return nil, fmt.Errorf("limiting a control group: %w", err)
	}
	return os.Open(dir)
}

// put writes a file of a group.
func put(dir, file, text string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)
}

// removeGroup removes a group when its last processes are gone.
func removeGroup(dir string) {
	for range 50 {
		if os.Remove(dir) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}
