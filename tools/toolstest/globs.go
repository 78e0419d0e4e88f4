package toolstest

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Forest is a folder with empty files that have the names of a real project, without ignore
// files. Globs are compared with ripgrep in it.
type Forest struct {
	Dir   string
	Names []string // relative, with slashes

	rg string
}

// NewForest makes a forest of the files below top. It skips the test without ripgrep.
func NewForest(t *testing.T, top string) *Forest {
	t.Helper()
	f := &Forest{Dir: t.TempDir(), rg: os.Getenv("RIPGREP")}
	if f.rg == "" {
		f.rg, _ = exec.LookPath("rg")
	}
	if f.rg == "" {
		t.Skip("ripgrep is neither in PATH nor named by RIPGREP")
	}
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(d.Name(), "ignore"):
			return nil
		}
		name, err := filepath.Rel(top, path)
		f.Names = append(f.Names, filepath.ToSlash(name))
		full := filepath.Join(f.Dir, name)
		return errors.Join(err, os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, nil, 0o644))
	})
	if err != nil || len(f.Names) == 0 {
		t.Fatalf("%d files, %v", len(f.Names), err)
	}
	slices.Sort(f.Names)
	return f
}

// Ripgrep returns the files that ripgrep selects by a glob, sorted.
func (f *Forest) Ripgrep(t *testing.T, glob string) []string {
	t.Helper()
	cmd := exec.Command(f.rg, "--no-config", "--files", "--hidden", "--no-ignore", "--null", "-g", glob)
	cmd.Dir = f.Dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		t.Fatalf("rg -g %s: %v", glob, err)
	}
	list := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	slices.Sort(list)
	return list
}

// Glob replaces parts of the path of a random file by what matches them.
func (f *Forest) Glob(r *rand.Rand) string {
	parts := strings.Split(f.Names[r.IntN(len(f.Names))], "/")
	if r.IntN(2) == 0 {
		parts = parts[len(parts)-1:]
	}
	for i, part := range parts {
		at, dot := r.IntN(len(part)), strings.LastIndexByte(part, '.')
		switch form := r.IntN(9); {
		case form == 0:
			part = part[:at] + "*"
		case form == 1:
			part = "*" + part[at:]
		case form == 2:
			part = part[:at] + "?" + part[at+1:]
		case form == 3:
			part = part[:at] + "*" + part[at+1:]
		case form == 4:
			part = part[:at] + "[" + part[at:at+1] + "x]" + part[at+1:]
		case form < 7 && dot > 0:
			part = part[:dot] + ".*"
		case form == 7 && dot > 0:
			part = "*" + part[dot-1:dot] + ".{" + part[dot+1:] + ",n}"
		}
		parts[i] = part
	}
	if len(parts) > 2 && r.IntN(3) == 0 {
		parts[1+r.IntN(len(parts)-2)] = "**"
	}
	if glob := strings.Join(parts, "/"); r.IntN(8) > 0 {
		return glob
	}
	return "**/" + strings.Join(parts, "/")
}
