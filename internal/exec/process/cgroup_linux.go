package process

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is the cgroup of one command. The supervisor is not in it, and opens its
// files before the command is confined.
type cgroup struct {
	path string
	dir  int      // the cgroup's folder
	stop *os.File // its cgroup.kill
	list *os.File // its cgroup.procs
}

// makeCgroup makes a cgroup for a command below the cgroup of this process, and
// returns its folder. It returns "" for tiers that use no cgroup.
func makeCgroup(t Tier) (string, error) {
	if t != Cgroup {
		return "", nil
	}
	own, err := ownCgroup()
	if err != nil {
		return "", refused("finding our own cgroup", err)
	}
	path := filepath.Join(own, cgroupPrefix(os.Getpid())+rand.Text()[:12])
	if err := os.Mkdir(path, 0o755); err != nil {
		return "", refused("making a cgroup", err)
	}
	return path, nil
}

// cgroupPrefix returns the prefix of the names of a server's cgroups.
func cgroupPrefix(server int) string { return fmt.Sprintf("mcp-toolset-%d-", server) }

// ownCgroup returns the folder of this process's cgroup (version 2).
func ownCgroup() (string, error) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			mount, err := cgroupMount()
			return filepath.Join(mount, path), err
		}
	}
	return "", errNoCgroup
}

// cgroupMount returns the mount point of the complete cgroup file system (version
// 2).
func cgroupMount() (string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// id parent dev root place options... - type source options
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if ok && len(fields) > 4 && strings.HasPrefix(after, "cgroup2 ") && fields[3] == "/" {
			return fields[4], nil
		}
	}
	return "", errNoCgroup
}

func openCgroup(path string) (*cgroup, error) {
	dir, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, refused("opening the cgroup", err)
	}
	// Linux has this file since 5.14.
	stop, err := os.OpenFile(filepath.Join(path, "cgroup.kill"), os.O_WRONLY, 0)
	if err != nil {
		return nil, refused("opening the cgroup", err)
	}
	if err := joinable(path); err != nil {
		return nil, refused("putting a process into the cgroup", err)
	}
	list, err := os.OpenFile(filepath.Join(path, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		return nil, refused("opening the cgroup", err)
	}
	return &cgroup{path: path, dir: dir, stop: stop, list: list}, nil
}

// joinable returns an error if this process may not move processes into the cgroup.
// It checks the files that the kernel requires to be writable: the list of the
// cgroup, and the list of our own cgroup, which is the common ancestor.
func joinable(path string) error {
	for _, dir := range []string{path, filepath.Dir(path)} {
		if err := unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// join moves a command that has just been started into the cgroup. Processes that
// it has started before are still found as its descendants.
func (c *cgroup) join(pid int) error {
	_, err := fmt.Fprint(c.list, pid)
	return err
}

func (c *cgroup) kill() { _, _ = c.stop.WriteString("1") }

func (c *cgroup) remove() { removeCgroup(c.path) }

// killCgroup kills the processes left in a cgroup whose supervisor has ended.
func killCgroup(path string) {
	_ = os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
}

// removeCgroup removes a cgroup that is becoming empty, and the cgroups that the
// command made in it. It retries for killWait at most.
func removeCgroup(path string) {
	if path == "" {
		return
	}
	for end := time.Now().Add(killWait); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if err := removeGroups(path); err != unix.EBUSY {
			return
		}
	}
}

func removeGroups(path string) error {
	err := unix.Rmdir(path)
	if err != unix.EBUSY {
		return err
	}
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if e.IsDir() {
			_ = removeGroups(filepath.Join(path, e.Name()))
		}
	}
	return unix.Rmdir(path)
}
