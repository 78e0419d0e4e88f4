package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mcp-toolset/internal/file/ospath"
)

// maxLinks is the limit of symbolic links that a path may pass through. It is the limit
// of Linux, so every path that the kernel opens resolves here, too.
const maxLinks = 40

const separator = string(filepath.Separator)

var (
	errNUL      = errors.New("path contains a NUL byte")
	errRelative = errors.New("path is not absolute")
)

// Canonical resolves every symbolic link in the deepest existing part of an absolute
// path and appends the rest. A link to a missing file resolves to its target, so that
// creating a file through it is checked at the place where the file would appear. Where
// the file system ignores case, Canonical returns the stored spelling of the existing
// part.
//
// Any error on the way except "does not exist" is returned as a *fs.PathError: no
// permission, a file where a directory is needed, a name too long, a loop of links, a
// NUL byte. On Windows it also returns an error for a path that may lead to another
// file than it seems (*ospath.Fault), and for a path on a share that is not trusted,
// which it does not access.
func Canonical(path string) (string, error) {
	if isCanonical(path) {
		return path, nil
	}
	canonical, err := resolve(path, spell)
	if err != nil {
		return "", &fs.PathError{Op: "resolving", Path: path, Err: cause(err)}
	}
	return canonical, nil
}

// resolve walks path name by name, as the kernel does: ".." leaves the directory that a
// link led to, not the one that holds the link. If spell is not nil, resolve also
// corrects the spelling of each name.
func resolve(path string, spell speller) (string, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return "", errNUL
	}
	if !filepath.IsAbs(path) {
		return "", errRelative
	}
	done, rest, err := begin(path)
	if err != nil {
		return "", err
	}
	for links := 0; ; {
		var name string
		name, rest = cutName(rest)
		switch name {
		case "":
			return done, nil
		case ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := join(done, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return absent(next, rest)
		}
		if err != nil {
			return "", err
		}
		if target, ok := linkTarget(next, info.Mode()); ok {
			if links++; links > maxLinks {
				return "", syscall.ELOOP
			}
			if done, rest, err = follow(done, target, rest); err != nil {
				return "", err
			}
			continue
		}
		if rest != "" && !info.IsDir() {
			return "", syscall.ENOTDIR
		}
		if spell != nil {
			if name, err = spell(done, name); err != nil {
				return "", err
			}
			next = join(done, name)
		}
		done = next
	}
}

// absent returns the result for a path that does not exist, followed by rest. rest is
// taken as written, but it must not contain "..": no path can climb out of a missing
// directory.
func absent(path, rest string) (string, error) {
	for left := rest; left != ""; {
		var name string
		if name, left = cutName(left); name == ".." {
			return "", fs.ErrNotExist
		}
	}
	return filepath.Clean(path + rest), nil
}

// linkTarget returns the target of the link at path. For a link that was removed
// meanwhile it returns the link's own name, so that the walk looks there again.
func linkTarget(path string, mode fs.FileMode) (target string, ok bool) {
	switch {
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return filepath.Base(path), true
		}
		return target, true
	case mode&fs.ModeIrregular != 0:
		// On Windows a junction is not a symbolic link, but acts as one.
		target, err := os.Readlink(path)
		return target, err == nil
	}
	return "", false
}

// follow returns the directory and the names with which the walk continues after a link
// in the directory done.
func follow(done, target, rest string) (from, names string, err error) {
	switch {
	case filepath.IsAbs(target):
		if done, target, err = begin(target); err != nil {
			return "", "", throughLink(err)
		}
	case target != "" && os.IsPathSeparator(target[0]):
		done = filepath.VolumeName(done) + separator
	}
	if err := ospath.Host.Check(ospath.Host.Join(done, target)); err != nil {
		return "", "", throughLink(err)
	}
	return done, target + rest, nil
}

// throughLink turns a fault of a link's target into a fault of the path with the link.
// It does not name the target.
func throughLink(err error) error {
	var f *ospath.Fault
	if errors.As(err, &f) {
		return &ospath.Fault{Fact: "passes a link to a path that " + f.Fact, Next: "Use another path."}
	}
	return err
}

// splitVolume splits an absolute path into its top directory and the rest.
func splitVolume(path string) (top, rest string) {
	volume := filepath.VolumeName(path)
	return volume + separator, path[len(volume):]
}

// cutName splits off the first name of path. The rest begins with its separator: "f/"
// leaves "/", which requires that f is a directory.
func cutName(path string) (name, rest string) {
	start := 0
	for start < len(path) && os.IsPathSeparator(path[start]) {
		start++
	}
	end := start
	for end < len(path) && !os.IsPathSeparator(path[end]) {
		end++
	}
	return path[start:end], path[end:]
}

// join is filepath.Join for a clean directory and a name or clean path below it.
func join(dir, name string) string {
	if os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + separator + name
}
