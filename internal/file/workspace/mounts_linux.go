package workspace

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// folding tells how a mount finds names.
type folding int

const (
	exactNames   folding = iota // only by the stored name
	folderNames                 // by the flag FS_CASEFOLD_FL of the folder
	foldingNames                // perhaps by other names
)

// exactTypes lists the types of file systems, as /proc/self/mountinfo has them, that find a file only
// by its stored name. Of types that are in no list, such as 9p, drvfs, virtiofs, fuse, cifs, ntfs3, vfat
// and exfat, nothing is assumed.
var exactTypes = words(`ext2 ext3 btrfs ramfs rootfs devtmpfs devpts proc sysfs cgroup cgroup2 mqueue hugetlbfs debugfs tracefs
	securityfs pstore bpf configfs efivarfs squashfs erofs nilfs2 ubifs jffs2 minix binfmt_misc autofs nsfs rpc_pipefs`)

// folderTypes lists the types whose folders may have the flag FS_CASEFOLD_FL.
var folderTypes = words(`ext4 f2fs overlay tmpfs bcachefs`)

// probedTypes lists the types that ignore case in the whole file system or nowhere: xfs by an option
// of mkfs, zfs by a property, nfs as its server.
var probedTypes = words(`xfs zfs nfs nfs4 ceph`)

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// mount is a mount that may find a file by another name than the stored one.
type mount struct {
	point, fs string
	exact     bool
}

// mountTable holds the mounts of this process at a time, in the order of mounting.
type mountTable struct {
	at     time.Time
	mounts []mount
	unsure []mount // those that are not exact
}

// mountAge limits how long a table is used: reading it for each path would cost more than the look-up.
const mountAge = time.Second

var presentMounts atomic.Pointer[mountTable]

func currentMounts() *mountTable {
	if t := presentMounts.Load(); t != nil && time.Since(t.at) < mountAge {
		return t
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		text = []byte("0 0 0:0 / / - unknown none none\n")
	}
	t := parseMounts(string(text), kernelFolds)
	t.at = time.Now()
	presentMounts.Store(t)
	return t
}

// kernelFolds reports whether the kernel's ext4 or f2fs can ignore case.
func kernelFolds(fs string) bool {
	_, err := os.Lstat("/sys/fs/" + fs + "/features/casefold")
	return err == nil
}

// octal replaces the escapes of a path in /proc/self/mountinfo.
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// parseMounts parses /proc/self/mountinfo; see proc(5).
func parseMounts(text string, kernelFolds func(fs string) bool) *mountTable {
	t := &mountTable{}
	for line := range strings.Lines(text) {
		head, tail, ok := strings.Cut(strings.TrimSpace(line), " - ")
		fields, rest := strings.Fields(head), strings.Fields(tail)
		if !ok || len(fields) < 5 || len(rest) == 0 {
			continue
		}
		m := mount{point: octal.Replace(fields[4]), fs: rest[0]}
		switch m.fs {
		case "ext4", "f2fs":
			m.exact = !kernelFolds(m.fs)
		case "tmpfs":
			m.exact = !strings.Contains(rest[len(rest)-1], "casefold")
		default:
			m.exact = exactTypes[m.fs]
		}
		if t.mounts = append(t.mounts, m); !m.exact {
			t.unsure = append(t.unsure, m)
		}
	}
	return t
}

// foldingIn returns the folding of the mount that holds dir, a path without links.
func foldingIn(dir string) folding {
	holds := mount{}
	for _, m := range currentMounts().mounts {
		if len(m.point) >= len(holds.point) && isBelow(dir, m.point) { // a later one covers an earlier one
			holds = m
		}
	}
	return holds.folding()
}

// foldingOn returns the worst folding of the mounts that path, which has no links, may pass.
func foldingOn(path string) (worst folding) {
	for _, m := range currentMounts().unsure {
		if isBelow(path, m.point) {
			worst = max(worst, m.folding())
		}
	}
	return worst
}

func isBelow(path, dir string) bool {
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || dir == separator || path[len(dir)] == '/')
}

// probes caches the results of probe: mount -> folding.
var probes sync.Map

func (m mount) folding() folding {
	switch {
	case m.exact:
		return exactNames
	case folderTypes[m.fs]:
		return folderNames
	case !probedTypes[m.fs]:
		return foldingNames
	}
	if known, ok := probes.Load(m); ok {
		return known.(folding)
	}
	f, sure := probe(m.point)
	if sure {
		probes.Store(m, f)
	}
	return f
}

// probe looks for a file of dir by another case of its name. sure is false if there is none to try.
func probe(dir string) (f folding, sure bool) {
	names, err := readNames(dir)
	if err != nil {
		return foldingNames, false
	}
	for _, name := range names {
		if other := flipped(name); other != name {
			if sameFile(join(dir, name), join(dir, other)) {
				return foldingNames, true
			}
			return exactNames, true
		}
	}
	return foldingNames, false
}

// SeveralNames reports whether a file in dir may be opened by several names that the kernel keeps
// apart, so that what is mounted on one of them does not hide the others. A folder with the flag
// FS_CASEFOLD_FL is none: there the kernel knows that the names are one.
func SeveralNames(dir string) bool {
	if foldingIn(dir) != foldingNames {
		return false
	}
	f, _ := probe(dir)
	return f == foldingNames
}
