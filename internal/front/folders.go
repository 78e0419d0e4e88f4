package front

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/plain"
)

// The folders of base that are not workspaces. Names of workspaces do not begin with a dot.
const (
	temporary = ".tmp"        // folders for temporary files
	records   = ".workspaces" // a record of each workspace
)

// CheckBase returns an error unless a folder can hold the workspaces of users who must not see each
// other. home is the home folder of the operator, and path the PATH of commands.
func CheckBase(base, home string, path []string) error {
	refused := func(format string, args ...any) error {
		return fmt.Errorf("base is %s, %s", plain.Line(base), fmt.Sprintf(format, args...))
	}
	info, err := os.Lstat(base)
	if err != nil {
		return refused("which cannot be used: %v; make it with mkdir -m 700", errors.Unwrap(err))
	}
	real, err := filepath.EvalSymlinks(base)
	switch {
	case !info.IsDir():
		return refused("which is not a folder")
	case err != nil || real != base:
		return refused("which is or follows a link; name its target")
	case !state.OwnedByUser(info):
		return refused("which belongs to another user")
	case info.Mode().Perm()&0o022 != 0:
		return refused("which other users can write; run chmod go-w on it")
	case sandbox.InSystem(base):
		return refused("which is in a folder that commands may read as a whole, so that each user would read the files of all; use one such as /workspaces")
	}
	for _, dir := range path {
		// Commands read the folder of a program, and that above a bin.
		if real, err := filepath.EvalSymlinks(dir); err == nil && overlap(base, strings.TrimSuffix(real, "/bin")) {
			return refused("which commands may read because of %s in PATH; use another folder", plain.Line(dir))
		}
	}
	if strings.HasPrefix(home+"/", base+"/") {
		return refused("which holds your home folder; use another folder")
	}
	return nil
}

// record holds the properties of a workspace that are stored outside of it.
type record struct {
	Template  string             `json:"template"`  // of its name
	Principal identity.Principal `json:"principal"` // who used it first
}

func recordOf(base, name string) string { return filepath.Join(base, records, name+".json") }

func readRecord(base, name string) (r record, err error) {
	data, _, err := state.ReadTrusted(recordOf(base, name), 64<<10)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

// prepare makes the folders of a workspace, and its record. own gives each to its OS user.
func (s *Spec) prepare(base string, p identity.Principal, own func(*os.File) error) error {
	for _, name := range []string{records, temporary} {
		if err := mkdir(base, filepath.Join(base, name), func(f *os.File) error {
			if name == temporary {
				return f.Chmod(0o711) // OS users of workspaces pass through it
			}
			return nil
		}); err != nil {
			return err
		}
	}
	switch r, err := readRecord(base, s.Name); {
	case errors.Is(err, fs.ErrNotExist):
		p.By = identity.Hash{}
		data, err := json.Marshal(record{s.template, p})
		if err == nil {
			err = state.Replace(recordOf(base, s.Name), data)
		}
		if err != nil {
			return fmt.Errorf("storing what workspace this is: %w", err)
		}
	case err != nil:
		return err
	case r.Template != s.template:
		return fmt.Errorf("the workspace %s is one of the rule with %s, and this rule has %s: two rules must not give one name; if the rules were changed, remove %s", s.Name, r.Template, s.template, recordOf(base, s.Name))
	}
	for _, folder := range append([]string{s.Folder, s.Home, s.State, s.Temp}, s.Roots...) {
		if err := mkdir(base, folder, own); err != nil {
			return err
		}
	}
	return nil
}

// mkdir makes a folder below base and those above it, with the mode 0700. It follows no links: a
// user can write some of these folders.
func mkdir(base, folder string, own func(*os.File) error) error {
	below, err := filepath.Rel(base, folder)
	if err != nil {
		return err
	}
	at, err := os.OpenRoot(base)
	if err != nil {
		return fmt.Errorf("opening the folder of workspaces: %w", err)
	}
	defer func() { at.Close() }()
	for name := range strings.SplitSeq(below, "/") {
		err := at.Mkdir(name, 0o700)
		made := err == nil
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making %s: %w", folder, err)
		}
		info, err := at.Lstat(name)
		if err != nil || !info.IsDir() {
			return fmt.Errorf("making %s: %s is not a folder", folder, name)
		}
		next, err := at.OpenRoot(name)
		if err != nil {
			return fmt.Errorf("making %s: %w", folder, err)
		}
		if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) {
			next.Close()
			return fmt.Errorf("making %s: %s was replaced", folder, name)
		}
		at.Close()
		at = next
		if made {
			f, err := at.Open(".")
			if err == nil {
				err = errors.Join(own(f), f.Close())
			}
			if err != nil {
				return fmt.Errorf("making %s: %w", folder, err)
			}
		}
	}
	return nil
}
