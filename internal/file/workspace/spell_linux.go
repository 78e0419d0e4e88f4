package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// spell corrects names in folders that may find a file by another name than the stored one. Linux
// decides that per mount (mounts_linux.go), and on some file systems per folder.
var spell speller = func(dir, name string) (string, error) {
	if !mayFold(dir) || distinct(dir, name) {
		return name, nil
	}
	return listed(dir, name)
}

const (
	exactAge   = 2 * time.Second
	maxFolders = 10_000
)

// exactFolders holds the folders that were seen to find files only by their stored names, with the
// time. Looking again costs several system calls. A folder can get the flag only while it is empty.
var exactFolders = struct {
	sync.Mutex
	seen map[string]time.Time
}{seen: map[string]time.Time{}}

// knownExact reports whether dir and all folders above it were seen to be exact within exactAge.
func knownExact(dir string) bool {
	exactFolders.Lock()
	defer exactFolders.Unlock()
	for since := time.Now().Add(-exactAge); ; dir = filepath.Dir(dir) {
		if at, ok := exactFolders.seen[dir]; !ok || at.Before(since) {
			return false
		}
		if dir == separator {
			return true
		}
	}
}

// mayFold reports whether dir may find a file by another name than the stored one.
func mayFold(dir string) bool {
	switch foldingIn(dir) {
	case foldingNames:
		return true
	case folderNames:
		exactFolders.Lock()
		at, ok := exactFolders.seen[dir]
		exactFolders.Unlock()
		if ok && time.Since(at) < exactAge {
			return false
		}
		if hasFlag(dir) {
			return true
		}
	}
	exactFolders.Lock()
	defer exactFolders.Unlock()
	if len(exactFolders.seen) >= maxFolders {
		clear(exactFolders.seen)
	}
	exactFolders.seen[dir] = time.Now()
	return false
}

// casefoldFlag is FS_CASEFOLD_FL of linux/fs.h.
const casefoldFlag = 0x40000000

// hasFlag reports whether a folder may have the flag FS_CASEFOLD_FL.
func hasFlag(dir string) bool {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	return err == nil && flags&casefoldFlag != 0 // the error of a file system without flags
}

// spelledExactly reports whether an existing path without links certainly has the stored names.
func spelledExactly(path string) bool {
	switch foldingOn(path) {
	case exactNames:
		return true
	case folderNames:
		return path == separator || knownExact(filepath.Dir(path))
	}
	return false
}

// distinct reports whether dir certainly stores the entry that is found as name under that name:
// another case of it is another file or none, and the name has no other form.
func distinct(dir, name string) bool {
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII || r == '~' }) || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return false // Unicode forms, short names, and endings that Windows ignores
	}
	other := flipped(name)
	if other == name {
		return false
	}
	_, err := os.Lstat(join(dir, other))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !sameFile(join(dir, name), join(dir, other))
}

// flipped returns name in upper case, or in lower case if it is in upper case.
func flipped(name string) string {
	if upper := strings.ToUpper(name); upper != name {
		return upper
	}
	return strings.ToLower(name)
}
