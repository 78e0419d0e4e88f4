package gitfront

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// move does mv for files that rename cannot move: the sandbox mounts the folders above hidden
// and protected paths. It returns false if git itself can do it, or must say why not.
func (f *front) move(index string) (done bool, err error) {
	if f.verb != "mv" {
		return false, nil
	}
	cmd := exec.Command(f.real, slices.Concat(f.globals, []string{"mv", "-n"}, f.rest)...)
	cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+index, "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil || f.has("-n", "--dry-run") {
		return false, nil
	}
	var pairs [][2]string
	for line := range strings.Lines(string(out)) {
		names, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "Renaming ")
		if from, to, one := strings.Cut(names, " to "); ok && one && !strings.Contains(to, " to ") {
			pairs = append(pairs, [2]string{from, to})
		} else if ok {
			return false, nil
		}
	}
	far := func(p [2]string) bool {
		return apart(filepath.Join(f.top, filepath.Dir(p[0])), filepath.Join(f.top, filepath.Dir(p[1])))
	}
	// Git lists a folder, and then each file in it.
	pairs = slices.DeleteFunc(pairs, func(p [2]string) bool {
		return slices.ContainsFunc(pairs, func(o [2]string) bool { return strings.HasPrefix(p[0], o[0]+"/") })
	})
	if !slices.ContainsFunc(pairs, far) {
		return false, nil
	}
	for _, p := range pairs {
		entries, err := f.entries(index, []string{p[0]})
		if err != nil || slices.ContainsFunc(entries, func(e entry) bool { return e.left || strings.HasPrefix(e.record, "160000") }) {
			return false, err
		}
		mv := exec.Command("mv", "-fT", "--", filepath.Join(f.top, p[0]), filepath.Join(f.top, p[1]))
		mv.Stderr = os.Stderr
		if err := mv.Run(); err != nil {
			return true, err
		}
		var records strings.Builder
		for _, e := range entries {
			records.WriteString("0 " + strings.Repeat("0", len(strings.Fields(e.record)[1])) + "\t" + e.name + "\x00")
			records.WriteString(e.record + "\t" + p[1] + strings.TrimPrefix(e.name, p[0]) + "\x00")
		}
		err = f.update(index, strings.NewReader(records.String()), "-z", "--index-info")
		if failed := f.with(index, "update-index", "-q", "--refresh").Run(); err != nil || failed != nil && !errors.As(failed, new(*exec.ExitError)) {
			return true, errors.Join(err, failed)
		}
	}
	return true, nil
}
