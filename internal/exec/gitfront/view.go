package gitfront

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// viewing lists the subcommands that compare the working tree with the index, and indexing
// those that change the index.
var (
	viewing  = strings.Fields("status diff difftool diff-files diff-index describe ls-files grep checkout-index clean")
	indexing = strings.Fields("add stage commit stash rm mv reset checkout switch restore merge rebase cherry-pick revert am apply update-index read-tree pull sparse-checkout bisect write-tree mergetool citool submodule filter-branch")
	known    = slices.Concat(viewing, indexing)
)

// viewMark is in the name of each copy of an index.
const viewMark = ".view"

// dropForeignView removes GIT_INDEX_FILE from the environment if it names a copy of the index
// of another repository: a hook may go on to use that repository.
func (f *front) dropForeignView() {
	if view := os.Getenv("GIT_INDEX_FILE"); strings.Contains(view, viewMark) {
		if cmd, err := exec.Command(f.real, "rev-parse", "--absolute-git-dir").Output(); err != nil || filepath.Dir(view) != strings.TrimSpace(string(cmd)) {
			os.Unsetenv("GIT_INDEX_FILE")
		}
	}
}

// leaveOut makes git ignore hidden folders that this user cannot open. Git would warn of each.
func (f *front) leaveOut() {
	lines := ""
	for _, path := range f.hiding {
		if dir, err := os.Open(filepath.Join(f.top, path)); err == nil {
			dir.Close()
		} else if errors.Is(err, fs.ErrPermission) {
			lines += "/" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `).Replace(path) + "/\n"
		}
	}
	if lines == "" || strings.Contains(os.Getenv("GIT_INDEX_FILE"), viewMark) {
		return
	}
	file := f.line("config", "--path", "--get", "core.excludesFile")
	if config := os.Getenv("XDG_CONFIG_HOME"); file == "" && config != "" {
		file = filepath.Join(config, "git", "ignore")
	} else if file == "" {
		file = filepath.Join(os.Getenv("HOME"), ".config", "git", "ignore")
	}
	text, _ := os.ReadFile(f.in(file))
	all := string(text) + "\n" + lines
	name := filepath.Join(f.Temp, fmt.Sprintf("git-excludes-%x", sha256.Sum256([]byte(all))))
	// Further processes of git may use the file, also after this one ends.
	if old, err := os.ReadFile(name); err == nil && string(old) == all || os.WriteFile(name, []byte(all), 0o600) == nil {
		setVariable("core.excludesFile", name)
	}
}

// index returns the path of the index.
func (f *front) index() string { return f.inFolder("index") }

// view runs git with a copy of the index in which hidden files are left out of the checkout.
// If git changed the copy, it replaces the index, without these marks.
func (f *front) view(words []string) int {
	index := f.index()
	if _, err := os.Stat(index); err != nil || strings.Contains(index, viewMark) {
		return become(f.real, words) // no index yet, or a copy already
	}
	view := index + viewMark
	lock := ""
	if slices.Contains(indexing, f.verb) {
		lock = index + ".lock"
		made, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if errors.Is(err, fs.ErrExist) {
			fmt.Fprintf(os.Stderr, "fatal: Unable to create '%s': File exists.\n\nAnother git process seems to be running in this repository.\n", lock)
			return 128
		}
		if err != nil {
			lock = ""
		} else {
			made.Close()
			_ = os.Remove(view + ".lock") // of a git that was killed
		}
	}
	if lock == "" { // commands share the folder, but not the numbers of processes
		folder, err := os.MkdirTemp(f.Temp, "git-")
		if err != nil {
			return code(err)
		}
		defer os.RemoveAll(folder)
		view = filepath.Join(folder, "index"+viewMark)
	}
	held := true
	defer func() {
		if held {
			_, _ = os.Remove(view), os.Remove(view+".lock")
			_ = os.Remove(lock) // last: it guards the others
		}
	}()
	old, err := os.ReadFile(index) // with the lock, as another git may have changed it
	if err != nil {
		return code(err)
	}
	marked, first, err := f.mark(view, old)
	if err != nil {
		fmt.Fprintf(os.Stderr, "fatal: git cannot leave out the hidden files %s: %v\n", strings.Join(f.hidden, ", "), err)
		return 128
	}
	setVariable("sparse.expectFilesOutsideOfPatterns", "true")
	sparse := f.line("config", "--bool", "core.sparseCheckout") == "true"
	if sparse && f.verb != "sparse-checkout" {
		setVariable("core.sparseCheckout", "false") // git would compute the marks anew
	}
	signals := make(chan os.Signal, 8) // git gets them, too, and ends by itself
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	cmd := exec.Command(f.real, words...)
	cmd.Args[0] = "git"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+view)
	moved, err := f.move(view)
	switch {
	case moved:
	case f.verb == "sparse-checkout":
		err = f.without(view, cmd.Run)
	default:
		if err = cmd.Run(); sparse && lock != "" {
			err = errors.Join(err, f.reapply(view, index))
		}
	}
	if lock != "" {
		kept, failed := f.keep(view, lock, index, marked, first)
		if held = !kept; failed != nil {
			fmt.Fprintf(os.Stderr, "fatal: the index could not be written: %v\n", failed)
			return 128
		}
	}
	if state := cmd.ProcessState; state != nil {
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		if state.ExitCode() != 0 {
			return state.ExitCode()
		}
	}
	return code(err)
}

// code prints an error and returns the exit code for it.
func code(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "fatal:", err)
	return 128
}

// setVariable adds a setting for git to the environment.
func setVariable(key, value string) {
	n, err := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	if err != nil {
		n = 0
	}
	at := strconv.Itoa(n)
	os.Setenv("GIT_CONFIG_KEY_"+at, key)
	os.Setenv("GIT_CONFIG_VALUE_"+at, value)
	os.Setenv("GIT_CONFIG_COUNT", strconv.Itoa(n+1))
}

// reapply leaves out new files of the index view that the patterns of a sparse checkout do not
// match, as git does when it adds them.
func (f *front) reapply(view, index string) error {
	list := func(index string) (string, error) {
		out, err := f.with(index, "ls-files", "-z").Output()
		return string(out), err
	}
	now, err := list(view)
	before, failed := list(index)
	if err != nil || failed != nil || now == before {
		return errors.Join(err, failed)
	}
	return f.without(view, func() error {
		return output(f.with(view, "-c", "core.sparseCheckout=true", "sparse-checkout", "reapply"))
	})
}

// mark makes the copy of an index. It returns the files that it marked and the copy.
func (f *front) mark(view string, old []byte) (marked []string, first []byte, err error) {
	if err := os.WriteFile(view, old, 0o600); err != nil {
		return nil, nil, err
	}
	out, err := f.git(append([]string{"ls-files", "-t", "-z", "--full-name", "--"}, literal(f.hidden)...)...)
	if err != nil {
		return nil, nil, err
	}
	for _, line := range split(out) {
		if tag, name, ok := strings.Cut(line, " "); ok && tag == "H" && !slices.Contains(marked, name) {
			marked = append(marked, name)
		}
	}
	if err := f.setMarks(view, "--skip-worktree", marked); err != nil {
		return nil, nil, err
	}
	first, err = os.ReadFile(view)
	return marked, first, err
}

// setMarks sets or clears the mark of some files in an index.
func (f *front) setMarks(index, flag string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return f.update(index, strings.NewReader(strings.Join(names, "\x00")+"\x00"), flag, "-z", "--stdin")
}

// output runs a command. Its error holds what the command prints.
func output(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// keep makes a changed copy the index, without the marks. lock is the index's lock, which
// replaces it at once, so that another process may take the lock. keep returns whether it did.
func (f *front) keep(view, lock, index string, marked []string, first []byte) (bool, error) {
	now, err := os.ReadFile(view)
	if errors.Is(err, fs.ErrNotExist) || bytes.Equal(now, first) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	out, err := f.with(view, append([]string{"ls-files", "-z", "--"}, literal(marked)...)...).Output()
	if err != nil {
		return false, err
	}
	if err := f.setMarks(view, "--no-skip-worktree", split(string(out))); err != nil {
		return false, err
	}
	if now, err = os.ReadFile(view); err != nil {
		return false, err
	}
	info, err := os.Stat(index)
	if err != nil {
		return false, err
	}
	if err := errors.Join(os.WriteFile(lock, now, 0o666), os.Chmod(lock, info.Mode().Perm()), os.Remove(view)); err != nil {
		return false, err
	}
	err = os.Rename(lock, index)
	return err == nil, err
}

// become replaces this process by the real git.
func become(real string, words []string) int {
	err := syscall.Exec(real, append([]string{"git"}, words...), os.Environ())
	fmt.Fprintln(os.Stderr, "fatal: the sandbox cannot run git:", err)
	return 128
}
