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

	"mcp-toolset/internal/plain"
	"mcp-toolset/policy"
)

// This file reads settings files, each with the care that its place needs.

// maxSettings bounds a settings file, in bytes: some ten thousand rules. A
// larger file is not one that somebody wrote.
const maxSettings = 1 << 20

// owners says who must have written a file for it to be believed.
type owners uint8

const (
	anyone   owners = iota // of a project: it only tightens, until it is trusted as it is
	named                  // by the command line: the user or root
	users                  // the same, in a folder where nobody else can put one
	managers               // root alone, in such a folder
)

// read reads a file outside of projects, through links. canonical is where they
// lead. A file that is absent is an error that is fs.ErrNotExist.
func read(path string, by owners) (data []byte, canonical string, err error) {
	if _, err := os.Lstat(path); errors.Is(err, syscall.ENOTDIR) {
		return nil, "", reading(path, fs.ErrNotExist) // such as below a home of /dev/null
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

// readFile reads a canonical path. Errors name it as it is written.
func readFile(path, canonical string, by owners) ([]byte, error) {
	// Opening a pipe or a device would act on it.
	seen, err := os.Lstat(canonical)
	if err != nil {
		return nil, reading(path, cause(err))
	}
	if err := fits(path, seen, by); err != nil {
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
	if err := fits(path, info, by); err != nil {
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

// fits refuses what is no settings file, or not from whom it should be.
func fits(path string, info fs.FileInfo, by owners) error {
	shown := plain.Line(path)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("reading settings: %s is a link; put the file itself there", shown)
	case !info.Mode().IsRegular():
		return fmt.Errorf("reading settings: %s is not a regular file; put one there, or remove it", shown)
	case info.Size() > maxSettings:
		return tooLarge(path)
	case by == anyone || !hasOwners:
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

// cause is an error without its path, which may not be safe to show.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// ProjectSettings are what the file of a project says.
type ProjectSettings struct {
	Dir      string // the project: canonical
	Path     string
	Hash     string           // SHA-256 of the file, in hexadecimal
	Settings *policy.Settings // nil if the file is malformed
}

func projectFile(root string) string {
	return filepath.Join(root, policy.ProjectFolder, policy.ProjectFile)
}

// ReadProject reads the settings of the project in a canonical folder; nil: it
// has none. No link is followed below the folder. With an error about a file that
// could be read and is malformed, the result has no Settings.
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
	data, err := readFile(path, path, anyone)
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
	p.Settings, err = policy.ParseSettings(data, path, dir)
	return p, err
}

// Load reads one file as --settings does, or as that of a project if it lies in a
// folder of that name. All of it is in the result, whoever wrote it. A missing
// file is an error.
func Load(path string) (*policy.Settings, error) {
	by := named
	if filepath.Base(filepath.Dir(path)) == policy.ProjectFolder {
		by = anyone
	}
	data, _, err := read(path, by)
	if err != nil {
		return nil, err
	}
	return policy.ParseSettings(data, path, rootOf(path))
}
