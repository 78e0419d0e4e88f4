package settings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/plain"
)

// Trust stores in the state folder which projects the user trusts: for each, the hash
// of the settings file that the user agreed to.
type Trust struct {
	file  string
	locks *filelock.Locks
}

// NewTrust returns the Trust in a state folder, which may not exist.
func NewTrust(stateFolder string) *Trust {
	return &Trust{file: filepath.Join(stateFolder, "trust.json"), locks: filelock.New(filepath.Join(stateFolder, "locks"))}
}

// Verdict states whether a project is trusted.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // the user has not trusted the project
	Changed                // the user has trusted it with a different settings file
	Trusted
)

// Of returns the verdict on a project with its present settings file.
func (t *Trust) Of(p *ProjectSettings) (Verdict, error) {
	all, err := t.read()
	if err != nil {
		return Unknown, err
	}
	switch all[p.Dir] {
	case "":
		return Unknown, nil
	case p.Hash:
		return Trusted, nil
	default:
		return Changed, nil
	}
}

// Trusts reports whether the user trusts the project in a canonical folder, whose settings are p,
// or nil if it has none. Unlike Of, it reads the trust also for settings that need none.
func (t *Trust) Trusts(dir string, p *ProjectSettings) bool {
	if p == nil {
		p = WithoutSettings(dir)
	}
	verdict, err := t.Of(p)
	return err == nil && verdict == Trusted
}

// WithoutSettings returns the settings of a project that has none, for Trust. They change when the
// project gets some.
func WithoutSettings(dir string) *ProjectSettings {
	sum := sha256.Sum256(nil)
	return &ProjectSettings{Dir: dir, Path: projectFile(dir), Hash: hex.EncodeToString(sum[:])}
}

// List returns the folders of all trusted projects, sorted. Their settings files may
// have changed since.
func (t *Trust) List() ([]string, error) {
	all, err := t.read()
	return slices.Sorted(maps.Keys(all)), err
}

// Add trusts a project with its present settings file.
func (t *Trust) Add(ctx context.Context, p *ProjectSettings) error {
	return t.change(ctx, func(all map[string]string) { all[p.Dir] = p.Hash })
}

// Remove ends the trust in the project in a folder. It reports whether the project was
// trusted.
func (t *Trust) Remove(ctx context.Context, dir string) (was bool, err error) {
	err = t.change(ctx, func(all map[string]string) {
		_, was = all[dir]
		delete(all, dir)
	})
	return was, err
}

func (t *Trust) change(ctx context.Context, with func(map[string]string)) error {
	if err := state.EnsurePrivate(filepath.Dir(t.file)); err != nil {
		return err
	}
	release, err := t.locks.Lock(ctx, t.file)
	if err != nil {
		return fmt.Errorf("locking what is trusted: %w", err)
	}
	defer release()
	all, err := t.read()
	if err != nil {
		return err
	}
	with(all)
	return t.write(all)
}

// trustFile is the content of the file, as JSON.
type trustFile struct {
	Version  int               `json:"version"`
	Projects map[string]string `json:"projects"` // hash of the settings file, by folder
}

const trustVersion = 1

// maxTrust is the limit of the file, in bytes: about ten thousand projects.
const maxTrust = 2 << 20

// read reads the file and accepts no irregularity: whoever can change the file can
// make the server run any program.
func (t *Trust) read() (map[string]string, error) {
	all, err := t.parse()
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is trusted: %s %w; mend or remove it", plain.Line(t.file), err)
	}
	return all, nil
}

func (t *Trust) parse() (map[string]string, error) {
	info, err := os.Lstat(t.file)
	switch {
	case err != nil:
		return nil, refusedFor(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	case hasOwners && !userOwns(info):
		return nil, errors.New("belongs to another user")
	case hasOwners && info.Mode().Perm()&0o022 != 0:
		return nil, errors.New("can be written by others")
	case info.Size() > maxTrust:
		return nil, fmt.Errorf("is larger than %d bytes", maxTrust)
	}
	data, err := os.ReadFile(t.file)
	if err != nil {
		return nil, refusedFor(err)
	}
	var f trustFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) || f.Version != trustVersion || f.Projects == nil {
		return nil, errors.New("is damaged, or of another version")
	}
	for dir, hash := range f.Projects {
		if !filepath.IsAbs(dir) || len(hash) != 64 {
			return nil, errors.New("is damaged: it has an entry that is none")
		}
	}
	return f.Projects, nil
}

func refusedFor(err error) error { return fmt.Errorf("cannot be read: %w", cause(err)) }

// write replaces the file atomically, so that a crash does not damage it.
func (t *Trust) write(all map[string]string) error {
	data, err := json.MarshalIndent(trustFile{trustVersion, all}, "", "  ")
	if err != nil {
		return fmt.Errorf("writing what is trusted: %w", err)
	}
	if err := state.Replace(t.file, append(data, '\n')); err != nil {
		return fmt.Errorf("writing what is trusted: %w", err)
	}
	return nil
}
