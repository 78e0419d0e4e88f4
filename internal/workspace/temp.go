package workspace

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/filelock"
)

const (
	// tempMark and tempEnd make the name of new content, .NAME + tempMark +
	// random + tempEnd, one that nobody else uses.
	tempMark = ".mcp-toolset-"
	tempEnd  = ".tmp"

	// tempRandom is the number of random bytes in it: names never repeat, so
	// whoever removes one by name removes what was meant.
	tempRandom = 8

	// maxStem bounds NAME, in bytes, so that the whole stays below 143 bytes:
	// the longest name on eCryptfs, the shortest limit in use.
	maxStem = 100
)

// temp is new content under a name of its own. It is locked while in use, so
// that one whose writer has died can be told.
type temp struct {
	dir  *os.Root
	file *os.File
	name string // "" once it has the file's
}

// What a test has in place of one of these sees when it is done.
var (
	makeFile     = (*os.Root).OpenFile
	storeContent = (*os.File).Sync
)

// newTemp creates the file that is to get name. What will be given the mode of
// an old file is nobody's business before; a new file gets from the start what
// the umask and the folder's default access control list leave.
func newTemp(dir *os.Root, name string, private bool) (*temp, error) {
	perm := fs.FileMode(0o666)
	if private {
		perm = 0o600
	}
	t := &temp{dir: dir, name: tempName(name)}
	// O_EXCL never follows a link.
	file, err := makeFile(dir, t.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil, errMoved // somebody guessed the name; the folder has gone
	}
	if err != nil {
		return nil, err
	}
	// A file system without locks does not let a sweep lock it either.
	_, _ = filelock.TryLock(file)
	t.file = file
	return t, nil
}

func tempName(name string) string {
	var random [tempRandom]byte
	rand.Read(random[:])
	if len(name) > maxStem {
		cut := maxStem
		for cut > maxStem-utf8.UTFMax && !utf8.RuneStart(name[cut]) {
			cut-- // some file systems take no half characters
		}
		name = name[:cut]
	}
	return "." + name + tempMark + hex.EncodeToString(random[:]) + tempEnd
}

// isTempName reports whether tempName makes such names.
func isTempName(name string) bool {
	rest, ok := strings.CutSuffix(name, tempEnd)
	at := len(rest) - hex.EncodedLen(tempRandom)
	if !ok || name[0] != '.' || at < 0 || !strings.HasSuffix(rest[:at], tempMark) {
		return false
	}
	_, err := hex.DecodeString(rest[at:])
	return err == nil
}

// fill writes the content and has the system store it.
func (t *temp) fill(content []byte) error {
	if _, err := t.file.Write(content); err != nil {
		return err
	}
	return storeContent(t.file)
}

// rename gives the file its name, in one step. It replaces old; without old it
// returns errMoved if the name is taken.
func (t *temp) rename(p *place, old *Old) error {
	there, err := t.dir.Lstat(t.name)
	if err != nil {
		return unlessGone(err)
	}
	if mine, err := t.file.Stat(); err != nil || !os.SameFile(mine, there) {
		return errMoved // another would get the name
	}
	give := func() error { return renameNew(t.dir, t.name, p.name) }
	if old != nil {
		give = func() error { return p.renameOver(t.name, old) }
	}
	switch err := give(); {
	case errors.Is(err, fs.ErrExist):
		return errMoved
	case err != nil:
		return unlessGone(err)
	}
	t.name = ""
	return nil
}

// unlessGone returns err unless it says that the file's name has gone.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errMoved
	}
	return err
}

// close leaves nothing behind but what was renamed.
func (t *temp) close() {
	if t.name != "" {
		_ = t.dir.Remove(t.name)
	}
	_ = t.file.Close()
}
