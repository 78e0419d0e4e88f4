package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
)

// Reading of settings files, with checks that depend on their place.

// maxSettings is the limit of a settings file, in bytes: about ten thousand rules.
// Nobody writes a larger file by hand.
const maxSettings = 1 << 20

// owners determines who must own a file for it to be accepted.
type owners uint8

const (
	anyOwner owners = iota // a project's file: it can only make decisions stricter until it is trusted
	named                  // a file named on the command line: owned by the user or root
	users                  // owned by the user or root, in a folder where no other user can put files
	managers               // owned by root, in such a folder
)

// read reads a file outside of projects and follows links. canonical is the file's
// canonical path. If the file does not exist, the error is fs.ErrNotExist.
func read(path string, by owners) (data []byte, canonical string, err error) {
	if _, err := os.Lstat(path); errors.Is(err, syscall.ENOTDIR) {
		return nil, "", reading(path, fs.ErrNotExist) // such as below a home folder of /dev/null
	} else if errors.Is(err, fs.ErrPermission) && by == users {
		return nil, "", fmt.Errorf("reading settings: %s: %w; set HOME or XDG_CONFIG_HOME to a folder of this user", plain.Line(path), cause(err))
	} else if err != nil {
		return nil, "", reading(path, cause(err))
	}
	if canonical, err = filepath.EvalSymlinks(path); err != nil {
		return nil, "", fmt.Errorf("reading settings: %s is a link that leads nowhere; mend or remove it", plain.Line(path))
	}
	if data, err = readFile(path, canonical, by); err != nil {
		return nil, "", err
	}
	if by < users {
		return data, canonical, nil
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(canonical)} {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, "", reading(path, cause(err))
		}
		if hasOwners && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return nil, "", fmt.Errorf("reading settings: everybody can put files into the folder of %s; run chmod o-w %s", plain.Line(path), plain.Line(dir))
		}
	}
	return data, canonical, nil
}

// readFile reads the file at canonical. Errors name it by path, as written.
func readFile(path, canonical string, by owners) ([]byte, error) {
	// Check first, because opening a pipe or a device would have effects.
	seen, err := os.Lstat(canonical)
	if err != nil {
		return nil, reading(path, cause(err))
	}
	if err := checkFile(path, seen, by); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(canonical, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, reading(path, cause(err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && !os.SameFile(seen, info) {
		err = errors.New("it changed meanwhile; try again")
	}
	if err != nil {
		return nil, reading(path, cause(err))
	}
	if err := checkFile(path, info, by); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSettings+1))
	switch {
	case err != nil:
		return nil, reading(path, cause(err))
	case len(data) > maxSettings:
		return nil, tooLarge(path)
	}
	return data, nil
}

// checkFile returns an error unless the file can be a settings file and has the owner and
// mode that by requires.
func checkFile(path string, info fs.FileInfo, by owners) error {
	shown := plain.Line(path)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("reading settings: %s is a link; put the file itself there", shown)
	case !info.Mode().IsRegular():
		return fmt.Errorf("reading settings: %s is not a regular file; put one there, or remove it", shown)
	case info.Size() > maxSettings:
		return tooLarge(path)
	case by == anyOwner || !hasOwners:
		return nil
	case by == managers && !rootOwns(info):
		return fmt.Errorf("reading settings: %s does not belong to root; run chown root %s", shown, shown)
	case !rootOwns(info) && !userOwns(info):
		return fmt.Errorf("reading settings: %s belongs to another user; run chown %d %s, or remove it", shown, os.Geteuid(), shown)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("reading settings: others than its owner can write %s (mode %04o); run chmod go-w %s", shown, info.Mode().Perm(), shown)
	}
	return nil
}

func tooLarge(path string) error {
	return fmt.Errorf("reading settings: %s is larger than %d bytes", plain.Line(path), maxSettings)
}

func reading(path string, err error) error {
	return fmt.Errorf("reading settings: %s: %w", plain.Line(path), err)
}

// cause returns err without its path, which may be unsafe to show.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// ProjectSettings holds the settings file of a project.
type ProjectSettings struct {
	Dir      string // folder of the project, canonical
	Path     string
	Hash     string    // SHA-256 of the file, in hexadecimal
	Settings *Settings // nil if the file is malformed
}

func projectFile(root string) string {
	return filepath.Join(root, policy.ProjectFolder, policy.ProjectFile)
}

// ReadProject reads the settings of the project in a canonical folder. It returns nil
// if there are none. It follows no link below the folder. If the file is readable but
// malformed, it returns an error and a result without Settings.
func ReadProject(dir string) (*ProjectSettings, error) {
	path := projectFile(dir)
	info, err := os.Lstat(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, reading(path, cause(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("reading settings: %s is a link; put the folder itself there", plain.Line(filepath.Dir(path)))
	case !info.IsDir():
		return nil, nil
	}
	data, err := readFile(path, path, anyOwner)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	after, err := os.Lstat(filepath.Dir(path))
	if err != nil || !os.SameFile(info, after) {
		return nil, reading(path, errors.New("its folder changed meanwhile; try again"))
	}
	sum := sha256.Sum256(data)
	p := &ProjectSettings{Dir: dir, Path: path, Hash: hex.EncodeToString(sum[:])}
	if p.Settings, err = Parse(data, path, dir); err == nil {
		p.Settings.withoutUsers()
		p.Settings.checkDisk(false)
	}
	return p, err
}

// Load reads one settings file as the option --settings does, or as a project's file
// if it is in a folder with the name of project settings folders. The result is
// complete, regardless of trust. A missing file is an error.
func Load(path string) (*Settings, error) {
	by := named
	if filepath.Base(filepath.Dir(path)) == policy.ProjectFolder {
		by = anyOwner
	}
	data, _, err := read(path, by)
	if err != nil {
		return nil, err
	}
	s, err := Parse(data, path, rootOf(path))
	if err == nil && by == anyOwner {
		s.withoutUsers()
	}
	if err == nil {
		s.checkDisk(inConfig(path))
	}
	return s, err
}
