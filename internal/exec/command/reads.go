package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"mcp-toolset/internal/exec/sandbox"
)

// readLayer lists the paths that the sandbox lets every command read.
type readLayer struct {
	read, hide []string // hide takes precedence
	list       []string // folders whose names alone may be listed
	tools      []string // folders of toolchains and their caches
	home       string   // "": none
	contained  bool     // the kernel keeps commands from the rest
}

// readLayer returns the read layer of the commands of a server.
func (c *Commands) readLayer() *readLayer {
	links := sandbox.NewResolver()
	real := func(paths []string) (out []string) {
		for _, path := range paths {
			if path = links.Real(path); path != "" && path != "/" {
				out = append(out, path)
			}
		}
		return out
	}
	l := &readLayer{contained: c.Uncontained(context.Background()) == nil}
	if c.config.Home != "" {
		l.home = resolved(c.config.Home)
	}
	p := c.policy(nil, false, "")
	l.hide, l.list = p.Hide, p.List
	var caches []string
	for _, cache := range sandbox.Caches(c.config.Home, c.variable) {
		caches = append(caches, cache.Path)
	}
	l.tools = real(slices.Concat(c.toolchains(links), caches))
	l.read = slices.Concat(real(p.Read), l.tools)
	return l
}

// holds reports whether every command may read a path, although nothing names it to the user: files
// of the system that all of its users may read, and those of toolchains and settings below hidden
// names of the home folder. Other files there are the user's work. uncertain is true if the
// command may also write to the path. Then it must be where only the system changes files.
func (l *readLayer) holds(path string, uncertain bool) bool {
	inHome := l.home != "" && inside(path, l.home)
	switch {
	case holding(path, l.hide) != "", sandbox.SystemSecret(path), processFile.MatchString(path), inside(path, "/dev"):
		return false
	case slices.Contains(l.list, path):
		return !uncertain
	case holding(path, l.read) == "":
		return false
	case holding(path, l.tools) != "":
		return true
	case inHome:
		return !uncertain && strings.HasPrefix(strings.TrimPrefix(path, l.home), "/.")
	case uncertain && (inside(path, "/srv") || inside(path, "/var")) && mayChange(path):
		return false
	}
	return forAll(path)
}

// absent reports whether there is certainly nothing at a path.
func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// mayChange reports whether the user of the server may change the file at a path, or make it.
func mayChange(path string) bool {
	for absent(path) {
		path = filepath.Dir(path)
	}
	return sandbox.May(path, true)
}

// forAll reports whether all users may read the file or folder at a canonical path. It returns true
// if there is nothing.
func forAll(path string) bool {
	const read, enter = 0o4, 0o1
	for need := fs.FileMode(read); ; need = enter {
		info, err := os.Lstat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 && info.Mode()&need == 0 {
			return false
		}
		above := filepath.Dir(path)
		if above == path {
			return true
		}
		path = above
	}
}

// ownProcess matches the files of a process by the names that denote the process which opens them,
// except for those that lead to files of others.
var ownProcess = regexp.MustCompile(`^/proc/(mounts|net(/\w+)*|(self|thread-self)(/(task(/[0-9]+)?|fd(/[0-9]+)?|fdinfo(/[0-9]+)?|net(/\w+)*|attr(/\w+)*|ns(/\w+)?|exe|[a-z_]+))?)/?$`)

// leadsOut matches links of ownProcess that lead to a folder.
var leadsOut = regexp.MustCompile(`/(root|cwd|map_files)/?$`)

// Own reports whether a path denotes a file of the process that opens it, or shared memory of its
// command. It must not be resolved in another process. Its environment is excluded if that holds
// secrets.
func (p *Private) Own(path string) bool {
	return inside(path, "/dev/shm") && p.mounted() || ownProcess.MatchString(path) && !leadsOut.MatchString(path) && !(strings.Contains(path, "/environ") && p.commands.PassesSecrets())
}

// Reads reports whether a command may read a path, as a file tool may, without a question: see
// readLayer.holds. command is true if a command names the path. If the kernel contains it, it may
// name devices, which it cannot open, and a file that a program may make where no grant lets it.
func (p *Private) Reads(path string, command, uncertain bool) bool {
	if onWindows {
		return false
	}
	if command && p.Contained() {
		switch {
		case inside(path, "/dev") && !inside(path, "/dev/tcp") && !inside(path, "/dev/udp"):
			return !uncertain
		case uncertain && absent(path) && p.commands.neverGranted(Grant{Path: existing(filepath.Dir(path)), Change: true}) != "":
			return true
		}
	}
	return p.reading().holds(path, uncertain)
}

// Contained reports whether the kernel contains commands.
func (p *Private) Contained() bool { return !onWindows && p.reading().contained }

func (p *Private) reading() *readLayer {
	p.once.Do(func() { p.layer = p.commands.readLayer() })
	return p.layer
}
