package workspace

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/file/filelock"
)

const (
	// tempMark and tempEnd make the name of a temporary file, .NAME + tempMark + random
	// + tempEnd, one that no other program uses.
	tempMark = ".mcp-toolset-"
	tempEnd  = ".tmp"

	// tempRandom is the number of random bytes in the name. Names never repeat, so a
	// removal by name removes the intended file.
	tempRandom = 8

	// maxStem is the limit of NAME in bytes. It keeps the whole name below 143 bytes,
	// the limit of eCryptfs and the lowest in use.
	maxStem = 100
)

// temp is a temporary file with the new content. It is locked while in use, so that a
// sweep recognizes one whose writer has died.
type temp struct {
	dir  *os.Root
	file *os.File
	name string // "" after the rename
}

// Tests replace these to observe the calls.
var (
	makeFile     = (*os.Root).OpenFile
	storeContent = (*os.File).Sync
)

// newTemp creates a temporary file that will be renamed to name. If private, only its
// owner can access it until it gets the mode of the old file. Otherwise it has from the
// start the mode that the umask and the folder's default access control list allow.
func newTemp(dir *os.Root, name string, private bool) (*temp, error) {
	perm := fs.FileMode(0o666)
	if private {
		perm = 0o600
	}
	t := &temp{dir: dir, name: tempName(name)}
	// O_EXCL never follows a link.
	file, err := makeFile(dir, t.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil, errMoved // the name was guessed, or the folder is gone
	}
	if err != nil {
		return nil, err
	}
	// On a file system without locks, a sweep cannot lock it either, so it removes
	// nothing.
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
			cut-- // some file systems reject incomplete characters
		}
		name = name[:cut]
	}
	return "." + name + tempMark + hex.EncodeToString(random[:]) + tempEnd
}

// IsTempName reports whether name has the form of tempName.
func IsTempName(name string) bool {
	rest, ok := strings.CutSuffix(name, tempEnd)
	at := len(rest) - hex.EncodedLen(tempRandom)
	if !ok || name == "" || name[0] != '.' || at < 0 || !strings.HasSuffix(rest[:at], tempMark) {
		return false
	}
	_, err := hex.DecodeString(rest[at:])
	return err == nil
}

// fill writes the content and syncs the file.
func (t *temp) fill(content []byte) error {
	if _, err := t.file.Write(content); err != nil {
		return err
	}
	return storeContent(t.file)
}

// rename gives the file its final name in one step. It replaces old; if old is nil, it
// returns errMoved if the name is taken.
func (t *temp) rename(p *place, old *Old) error {
	there, err := t.dir.Lstat(t.name)
	if err != nil {
		return unlessGone(err)
	}
	if mine, err := t.file.Stat(); err != nil || !os.SameFile(mine, there) {
		return errMoved // another file would get the name
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

// unlessGone returns errMoved if err says that the file's name is gone, and otherwise
// err.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errMoved
	}
	return err
}

// close closes the file and removes it unless it was renamed.
func (t *temp) close() {
	if t.name != "" {
		_ = t.dir.Remove(t.name)
	}
	_ = t.file.Close()
}
