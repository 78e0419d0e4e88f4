package gitfront

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sparse is writes for sparse-checkout, of tracked files. It runs the subcommand in a scratch
// repository that has these files alone, and returns those that come or go there.
func (f *front) sparse(tracked []string) []string {
	if len(f.rest) == 0 || len(tracked) == 0 || slices.Contains([]string{"list", "check-rules", "-h"}, f.rest[0]) {
		return nil
	}
	var input []byte
	if f.has("--stdin") {
		var err error
		if input, err = f.spool(); err != nil {
			return tracked
		}
	}
	before, after, err := f.rehearse(tracked, input)
	if err != nil {
		return tracked
	}
	return slices.DeleteFunc(slices.Clone(tracked), func(p string) bool { return slices.Contains(before, p) == slices.Contains(after, p) })
}

// rehearse runs the subcommand in a scratch repository with empty tracked files. It returns
// those that are in the working tree before and after.
func (f *front) rehearse(tracked []string, input []byte) (before, after []string, err error) {
	top, err := os.MkdirTemp(f.Temp, "git-sparse-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(top)
	entries, err := f.entries(f.index(), tracked)
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(top, f.line("rev-parse", "--show-prefix"))
	var failed error
	git := func(input string, args ...string) string {
		cmd := exec.Command(f.real, args...)
		cmd.Dir = dir
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_WORK_TREE=") || strings.HasPrefix(v, "GIT_INDEX_FILE=") || strings.HasPrefix(v, "GIT_COMMON_DIR=")
		})
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		if failed == nil {
			failed = err
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	git("", "init", "-q", "--object-format="+f.line("rev-parse", "--show-object-format"), top)
	for _, key := range []string{"core.sparseCheckout", "core.sparseCheckoutCone"} {
		if value := f.line("config", "--get", key); value != "" {
			git("", "config", key, value)
		}
	}
	patterns, err := os.ReadFile(f.inFolder("info/sparse-checkout"))
	if err == nil {
		err = os.WriteFile(filepath.Join(top, ".git", "info", "sparse-checkout"), patterns, 0o600)
	}
	if err != nil && !os.IsNotExist(err) {
		return nil, nil, err
	}
	blob := git("", "hash-object", "-w", "--stdin")
	var all, left strings.Builder
	for _, e := range entries {
		all.WriteString("100644 " + blob + " 0\t" + e.name + "\x00")
		if e.left {
			left.WriteString(e.name + "\x00")
			continue
		}
		before = append(before, e.name)
	}
	git(all.String(), "-C", top, "update-index", "-z", "--index-info")
	git(left.String(), "-C", top, "update-index", "--skip-worktree", "-z", "--stdin")
	git("", "-C", top, "checkout-index", "-a", "-u")
	git(string(input), append([]string{f.verb}, f.rest...)...)
	for _, name := range tracked {
		if _, err := os.Lstat(filepath.Join(top, name)); err == nil {
			after = append(after, name)
		}
	}
	return before, after, failed
}

// entry is a file of an index.
type entry struct {
	left   bool   // a sparse checkout leaves it out
	record string // mode, blob and stage
	name   string
}

// entries returns what an index has for some files.
func (f *front) entries(index string, names []string) (out []entry, err error) {
	text, err := f.with(index, append([]string{"ls-files", "-s", "-t", "-z", "--"}, literal(names)...)...).Output()
	for _, line := range bytes.Split(text, []byte{0}) {
		if record, name, ok := strings.Cut(string(line), "\t"); ok && len(record) > 2 {
			out = append(out, entry{record[0] == 'S', record[2:], name})
		}
	}
	return out, err
}

// without runs a function while an index has no hidden files.
func (f *front) without(index string, run func() error) error {
	entries, err := f.entries(index, f.hidden)
	if err != nil {
		return err
	}
	var names, records, left strings.Builder
	for _, e := range entries {
		names.WriteString(e.name + "\x00")
		records.WriteString(e.record + "\t" + e.name + "\x00")
		if e.left {
			left.WriteString(e.name + "\x00")
		}
	}
	update := func(input string, args ...string) error {
		return f.update(index, strings.NewReader(input), args...)
	}
	if err := update(names.String(), "--force-remove", "-z", "--stdin"); err != nil {
		return err
	}
	err = run()
	if failed := update(records.String(), "-z", "--index-info"); failed != nil {
		return failed
	}
	if failed := update(left.String(), "--skip-worktree", "-z", "--stdin"); failed != nil {
		return failed
	}
	return err
}

// update runs update-index for an index. Names in input are relative to the top folder.
func (f *front) update(index string, input io.Reader, args ...string) error {
	cmd := f.with(index, append([]string{"update-index"}, args...)...)
	cmd.Stdin = input
	return output(cmd)
}
