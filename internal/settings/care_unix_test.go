//go:build unix

package settings

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deadline is reached only if a test fails.
const deadline = 20 * time.Second

// TestCare checks that files which other users could have written or put there, and
// files which are not regular, are rejected.
func TestCare(t *testing.T) {
	root := os.Geteuid() == 0
	for _, c := range []struct {
		what, file string
		make       func(p *place, path string) error
		want       string // "" if the file is accepted
	}{
		{"group can write", userFile, chmod(0o664), "reading settings: others than its owner can write FILE (mode 0664); run chmod go-w FILE"},
		{"all can write", userFile, chmod(0o646), "reading settings: others than its owner can write FILE (mode 0646); run chmod go-w FILE"},
		{"private", userFile, chmod(0o600), ""},
		{"group can write", "given.json", chmod(0o664), "reading settings: others than its owner can write FILE (mode 0664); run chmod go-w FILE"},
		{"group can write", "etc/managed.json", chmod(0o664), "reading settings: others than its owner can write FILE (mode 0664); run chmod go-w FILE"},
		{"all can write", workFile, chmod(0o666), ""},
		{"folder of all", userFile, chmodFolder(0o777), "reading settings: everybody can put files into the folder of FILE; run chmod o-w FOLDER"},
		{"folder of all", "etc/managed.json", chmodFolder(0o777), "reading settings: everybody can put files into the folder of FILE; run chmod o-w FOLDER"},
		{"folder of all, sticky", userFile, chmodFolder(0o777 | os.ModeSticky), ""},
		{"folder of all", "given.json", chmodFolder(0o777), ""},
		{"another user", userFile, chown(1, root), "reading settings: FILE belongs to another user; run chown 0 FILE, or remove it"},
		{"another user", "given.json", chown(1, root), "reading settings: FILE belongs to another user; run chown 0 FILE, or remove it"},
		{"another user", "etc/managed.json", chown(1, root), "reading settings: FILE does not belong to root; run chown root FILE"},
		{"another user", workFile, chown(1, root), ""},
		{"a pipe", userFile, pipe, "reading settings: FILE is not a regular file; put one there, or remove it"},
		{"a pipe", workFile, pipe, "reading settings: FILE is not a regular file; put one there, or remove it"},
		{"a pipe", "given.json", pipe, "reading settings: FILE is not a regular file; put one there, or remove it"},
		{"a folder", userFile, folder, "reading settings: FILE is not a regular file; put one there, or remove it"},
		{"a folder", workFile, folder, "reading settings: FILE is not a regular file; put one there, or remove it"},
		{"a device", userFile, link("/dev/zero"), "reading settings: FILE is not a regular file; put one there, or remove it"},
		{"a link", userFile, link("BASE/else.json"), ""},
		{"a link to what others can write", userFile, link("BASE/open.json"), "reading settings: others than its owner can write FILE (mode 0666); run chmod go-w FILE"},
		{"a link into a folder of all", userFile, link("BASE/all/s.json"), "reading settings: everybody can put files into the folder of FILE; run chmod o-w BASE/all"},
		{"a link to nowhere", userFile, link("nowhere"), "reading settings: FILE is a link that leads nowhere; mend or remove it"},
		{"a link", workFile, link("BASE/else.json"), "reading settings: FILE is a link; put the file itself there"},
		{"a link inside", workFile, link("../s.json"), "reading settings: FILE is a link; put the file itself there"},
	} {
		if c.make == nil {
			continue // not possible as this user
		}
		p := newPlace(t)
		for name, mode := range map[string]os.FileMode{"else.json": 0o644, "open.json": 0o666, "all/s.json": 0o644, "work/s.json": 0o644} {
			if err := os.Chmod(p.file(name, "{}"), mode); err != nil {
				t.Fatal(err)
			}
		}
		p.folder("all", 0o777)
		path := p.file(c.file, "{}")
		if c.file == "given.json" {
			p.folder("given", 0o755)
			path = p.file("given/given.json", "{}")
			p.o.Explicit = path
		}
		if c.file == "etc/managed.json" && !root {
			continue // the file must belong to root
		}
		if err := c.make(p, path); err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer("FILE", path, "FOLDER", filepath.Dir(path), "BASE", p.base).Replace(c.want)
		done := make(chan string, 1)
		go func() {
			f, err := Find(p.o)
			if have := message(err); have != "" || f == nil || len(f.Warnings) == 0 {
				done <- have
			} else {
				done <- strings.Join(f.Warnings, "\n")
			}
		}()
		if c.file == workFile && want != "" {
			want += untrusted // an untrusted project does not stop the start
		}
		select {
		case have := <-done:
			if have != want {
				t.Errorf("%s, %s\nwant %s\nhave %s", c.file, c.what, want, have)
			}
		case <-time.After(deadline):
			t.Fatalf("%s, %s: it waits", c.file, c.what)
		}
	}
}

// untrusted is the end of the warning about the file of an untrusted project that
// cannot be read.
const untrusted = "; nothing of the file holds, since the project is not trusted"

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type maker = func(p *place, path string) error

func chmod(mode os.FileMode) maker {
	return func(_ *place, path string) error { return os.Chmod(path, mode) }
}

func chmodFolder(mode os.FileMode) maker {
	return func(_ *place, path string) error { return os.Chmod(filepath.Dir(path), mode) }
}

func chown(uid int, can bool) maker {
	if !can {
		return nil
	}
	return func(_ *place, path string) error { return os.Chown(path, uid, -1) }
}

func pipe(_ *place, path string) error {
	return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644))
}

func folder(_ *place, path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) }

func link(to string) maker {
	return func(p *place, path string) error {
		return errors.Join(os.Remove(path), os.Symlink(strings.ReplaceAll(to, "BASE", p.base), path))
	}
}

// TestProjectFolder checks that the folder of a project's settings may be absent or a
// file, but must not be a link.
func TestProjectFolder(t *testing.T) {
	p := newPlace(t)
	p.file("work/.mcp-toolset", "a file")
	if f := p.find(); f.Merged != nil {
		t.Error("a file is a folder")
	}
	p.file("conf/settings.json", `{}`)
	if err := errors.Join(os.Remove(p.at("work/.mcp-toolset")), os.Symlink("../conf", p.at("work/.mcp-toolset"))); err != nil {
		t.Fatal(err)
	}
	if f := p.find(); !slices.Equal(f.Warnings, []string{"reading settings: " + p.at("work/.mcp-toolset") + " is a link; put the folder itself there" + untrusted}) {
		t.Errorf("%q", f.Warnings)
	}
}

// TestFilesBehindLinks checks that the target of a link at a user's settings also
// counts as a settings file.
func TestFilesBehindLinks(t *testing.T) {
	p := newPlace(t)
	real := p.file("work/dotfiles/settings.json", "{}")
	p.folder("home/.config/mcp-toolset", 0o755)
	if err := os.Symlink(real, p.at(userFile)); err != nil {
		t.Fatal(err)
	}
	if f := p.find(); !slices.Contains(f.Files, real) || !slices.Contains(f.Files, p.at(userFile)) {
		t.Errorf("%q", f.Files)
	}
}

// TestHomeOfOthers checks that an inaccessible home folder is an error: the settings
// that may be in it must not be ignored.
func TestHomeOfOthers(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root looks into every folder")
	}
	p := newPlace(t)
	p.folder("home", 0)
	defer p.folder("home", 0o755)
	if _, err := Find(p.o); message(err) != "reading settings: "+p.at(userFile)+": permission denied; set HOME or XDG_CONFIG_HOME to a folder of this user" {
		t.Error(err)
	}
}

// TestManagedOfUser checks that a managed file of a user other than root is rejected.
func TestManagedOfUser(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the file is root's")
	}
	p := newPlace(t)
	path := p.file("etc/managed.json", "{}")
	if _, err := Find(p.o); message(err) != "reading settings: "+path+" does not belong to root; run chown root "+path {
		t.Error(err)
	}
}
