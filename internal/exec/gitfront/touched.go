package gitfront

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// touched returns the closed paths, or else the hidden ones, that the subcommand would write.
// It is conservative: it may return a path that git would leave alone in the end.
func (f *front) touched() (paths []string, hidden bool) {
	if f.closed == nil {
		f.closed = []string{}
	}
	if paths = f.writes(f.closed, true); len(paths) > 0 {
		return paths, false
	}
	if paths = f.writes(f.hiding, false); len(paths) > 0 {
		return paths, true
	}
	f.target, f.ours = "", nil
	if paths = f.writes(f.opened, true); len(paths) > 0 && !f.settles(paths) {
		return paths, false
	}
	return nil, false
}

// has reports whether one of some flags is among the words before --. Git takes the beginning
// of a long flag for it.
func (f *front) has(flags ...string) bool {
	for _, w := range f.rest {
		if w == "--" {
			return false
		}
		name, _, _ := strings.Cut(w, "=")
		if slices.ContainsFunc(flags, func(flag string) bool { return flag == name || len(name) > 4 && strings.HasPrefix(flag, name) }) {
			return true
		}
	}
	return false
}

// values returns the values of some flags, in order.
func (f *front) values(flags ...string) (out []string) {
	for i := 0; i < len(f.rest) && f.rest[i] != "--"; i++ {
		name, value, ok := strings.Cut(f.rest[i], "=")
		if slices.Contains(flags, f.rest[i]) && i+1 < len(f.rest) {
			i++
			out = append(out, f.rest[i])
		} else if ok && slices.Contains(flags, name) {
			out = append(out, value)
		}
	}
	return out
}

// operands returns the words that are no flags before --, and those after it. values lists
// flags whose value is the next word.
func (f *front) operands(values ...string) (before, after []string) {
	for i := 0; i < len(f.rest); i++ {
		switch w := f.rest[i]; {
		case w == "--":
			return before, append([]string{}, f.rest[i+1:]...)
		case slices.Contains(values, w):
			i++
		case w == "-" || !strings.HasPrefix(w, "-"):
			before = append(before, w)
		}
	}
	return before, nil
}

// commit returns the commit that a word names; "" if it names none.
func (f *front) commit(word string) string {
	if word == "-" {
		word = "@{-1}"
	}
	return f.line("rev-parse", "--quiet", "--verify", "--end-of-options", word+"^{commit}")
}

// head returns the present commit, or the empty tree before the first one.
func (f *front) head() string {
	if head := f.commit("HEAD"); head != "" {
		return head
	}
	return f.line("hash-object", "-t", "tree", os.DevNull)
}

// differ returns the paths of set that differ between states, as for git diff.
func (f *front) differ(set []string, states ...string) []string {
	names, err := f.names(set, append([]string{"diff", "--name-only", "-z", "--no-ext-diff", "--no-renames"}, states...)...)
	if err != nil {
		return set
	}
	return names
}

// within returns those of paths that pathspecs match in the index or a commit.
func (f *front) within(paths, specs []string, commit string) []string {
	if len(paths) == 0 || len(specs) == 0 {
		return nil
	}
	// A pathspec is relative to the folder, and can be anything; git says what it matches.
	out, err := f.git(append([]string{"ls-files", "-z", "--full-name", "--cached", "--others", "--"}, specs...)...)
	if err != nil {
		return paths
	}
	matched := split(out)
	if commit != "" {
		diff, err := f.git(append([]string{"diff", "--name-only", "-z", "--no-renames", "--cached", commit, "--"}, specs...)...)
		if err != nil {
			return paths
		}
		matched = append(matched, split(diff)...)
	}
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		for at := p; at != "."; at = filepath.Dir(at) { // one above it is a submodule
			if slices.Contains(matched, at) {
				return false
			}
		}
		return true
	})
}

// local returns the paths of set whose files differ from a commit, or from the index if it is
// "". Hidden files cannot be compared, so those are taken from the index.
func (f *front) local(set []string, commit string, readable bool) []string {
	switch {
	case readable && commit == "":
		return f.differ(set)
	case readable:
		return f.differ(set, commit)
	case commit == "":
		return nil
	}
	return f.differ(set, "--cached", commit)
}

// changed returns the paths of set that some commits changed, given as for git log.
func (f *front) changed(set []string, revisions ...string) []string {
	names, err := f.names(set, append([]string{"log", "--name-only", "-z", "-m", "--format=", "--no-renames", "--no-ext-diff"}, revisions...)...)
	if err != nil {
		return set
	}
	for i := range names {
		names[i] = strings.Trim(names[i], "\n")
	}
	return names
}

// writes returns the paths of set that the subcommand would write. readable tells whether git
// can read their files.
func (f *front) writes(set []string, readable bool) []string {
	if len(set) == 0 {
		return nil
	}
	head := f.head
	switch f.verb {
	case "checkout", "switch":
		return f.checkout(set, readable)
	case "restore":
		if f.has("--staged", "-S") && !f.has("--worktree", "-W") {
			return nil
		}
		source := ""
		before, after := f.operands("-s", "--source", "--pathspec-from-file")
		for _, value := range f.values("-s", "--source") {
			source = value
		}
		return f.files(set, readable, source, append(before, after...))
	case "reset":
		to := head()
		before, _ := f.operands()
		if len(before) > 0 {
			to = before[0]
		}
		if !f.has("--hard", "--merge", "--keep") {
			return nil
		}
		f.target = to
		return f.local(set, to, readable)
	case "read-tree":
		if !f.has("-u", "--reset") {
			return nil
		}
		var out []string
		before, _ := f.operands()
		for _, w := range before {
			out = append(out, f.local(set, w, readable)...)
		}
		return out
	case "merge":
		if f.has("--abort") {
			return f.local(set, head(), readable)
		}
		before, _ := f.operands("-m", "-F", "-s", "-X", "--strategy", "--strategy-option", "--into-name")
		if slices.Equal(f.values("-s", "--strategy"), []string{"ours"}) && !f.has("--ff-only") && f.commit("HEAD") != "" {
			return nil // it makes a commit with the files of HEAD
		}
		if len(before) == 0 && !f.has("--continue", "--quit") {
			before = []string{"@{upstream}"}
		}
		if len(before) == 1 {
			f.target, f.ours = before[0], []string{before[0] + "...HEAD"}
		}
		var out []string
		for _, w := range before {
			out = append(out, f.differ(set, "HEAD..."+w)...)
		}
		return out
	case "rebase":
		return f.rebase(set, readable)
	case "cherry-pick", "revert":
		if f.has("--abort", "--skip") {
			return f.local(set, head(), readable)
		}
		before, _ := f.operands("-m", "--mainline", "-X", "--strategy-option", "--strategy")
		if len(before) == 0 {
			return nil
		}
		walk := before
		if !slices.ContainsFunc(before, func(w string) bool { return strings.Contains(w, "..") || strings.HasPrefix(w, "^") }) {
			walk = append([]string{"--no-walk"}, before...)
			if f.target, f.ours = before[0], []string{"HEAD", before[0] + "^"}; f.verb == "revert" {
				f.target, f.ours = before[0]+"^", []string{"HEAD", before[0]}
			}
			if len(before) > 1 {
				f.target = ""
			}
		}
		return f.changed(set, walk...)
	case "stash":
		return f.stash(set, readable)
	case "am", "apply":
		return f.patched(set)
	case "rm", "mv":
		before, after := f.operands("--pathspec-from-file")
		specs := append(before, after...)
		if f.verb == "rm" && f.has("--cached") && readable || f.has("-n", "--dry-run") {
			return nil
		}
		if f.verb == "mv" && len(specs) > 0 {
			specs = specs[:len(specs)-1]
		}
		return f.within(append(f.below(set), set...), specs, "")
	case "submodule":
		if len(f.rest) == 0 || f.rest[0] != "deinit" || !f.has("-f", "--force") {
			return nil
		}
		if before, after := f.operands(); !f.has("--all") {
			return f.within(set, append(before[1:], after...), "")
		}
		return f.within(set, []string{":/"}, "")
	case "checkout-index":
		if readable {
			if !f.has("-f", "--force") {
				return nil
			}
			return f.differ(set)
		}
		if before, after := f.operands(); f.has("--ignore-skip-worktree-bits", "--stdin", "--temp") || len(before)+len(after) > 0 && len(f.within(f.hidden, append(before, after...), "")) > 0 {
			return f.hidden
		}
	case "clean":
		return f.cleaned(set)
	case "sparse-checkout":
		return f.sparse(f.below(set))
	}
	return nil
}

// below returns the tracked files of set, which may hold folders.
func (f *front) below(set []string) []string {
	names, err := f.names(set, "ls-files", "-z", "--full-name")
	if err != nil {
		return set
	}
	return names
}

// generatedHooks is a folder that the sandbox replaces by a copy. Commands cannot remove it.
const generatedHooks = ".husky/_"

// cleaned returns the paths of set that clean would remove.
func (f *front) cleaned(set []string) []string {
	if f.has("-n", "--dry-run", "-i", "--interactive") {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(f.rest), func(w string) bool { return w == "-q" || w == "--quiet" })
	out, err := f.git(slices.Concat([]string{"-c", "core.quotePath=false", "clean", "-n", "-e", generatedHooks}, rest)...)
	if err != nil {
		return nil // the subcommand fails as well
	}
	prefix := f.line("rev-parse", "--show-prefix")
	return slices.DeleteFunc(slices.Clone(set), func(p string) bool {
		for line := range strings.Lines(out) {
			name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "Would remove ")
			if plain, err := strconv.Unquote(name); err == nil {
				name = plain
			}
			name = filepath.Join(prefix, name)
			if ok && (p == name || strings.HasPrefix(p, name+"/") || strings.HasPrefix(name, p+"/")) {
				return false
			}
		}
		return true
	})
}

// checkout is writes for checkout and switch.
func (f *front) checkout(set []string, readable bool) []string {
	before, after := f.operands("-b", "-B", "-c", "-C", "--orphan", "--conflict", "--pathspec-from-file")
	to := ""
	if len(before) > 0 {
		if to = f.commit(before[0]); to == "" && len(before) == 1 && after == nil && !f.has("-b", "-B", "-c", "-C", "--orphan") {
			// git makes a branch for that of a remote
			to = f.line("for-each-ref", "--format=%(objectname)", "refs/remotes/*/"+before[0])
		}
	}
	if f.verb == "checkout" && (after != nil || len(before) > 1 || len(before) == 1 && to == "" || f.has("--pathspec-from-file")) {
		specs, source := append(before, after...), ""
		if to != "" {
			specs, source = append(before[1:], after...), before[0]
		}
		return f.files(set, readable, source, specs)
	}
	orphan := f.verb == "switch" && f.has("--orphan")
	switch {
	case orphan:
		return f.below(set)
	case f.has("-f", "--force", "--discard-changes", "-m", "--merge"):
		if to == "" {
			to = f.head()
		}
		if !f.has("-m", "--merge") {
			f.target = to
		}
		return f.local(set, to, readable)
	case to == "":
		return nil
	}
	f.target = to
	return f.differ(set, f.head(), to)
}

// files is writes for a subcommand that writes the files that pathspecs match, from a commit,
// or from the index if it is "".
func (f *front) files(set []string, readable bool, source string, specs []string) []string {
	if !readable && f.has("--ignore-skip-worktree-bits") {
		return f.within(f.hidden, specs, source)
	}
	if f.target = source; source == "" {
		f.target = ":"
	}
	if f.has("-p", "--patch", "-m", "--merge", "--ours", "--theirs", "--overlay", "--conflict") {
		f.target = ""
	}
	if f.has("--pathspec-from-file") {
		return f.local(set, source, readable)
	}
	return f.within(f.local(set, source, readable), specs, source)
}

// rebase is writes for rebase. A rebase that waits goes on with the commits that it has.
func (f *front) rebase(set []string, readable bool) []string {
	if f.has("--continue", "--skip", "--abort") {
		for _, state := range []string{"rebase-merge", "rebase-apply"} {
			dir := f.line("rev-parse", "--path-format=absolute", "--git-path", state)
			onto, err := os.ReadFile(filepath.Join(dir, "onto"))
			from, failed := os.ReadFile(filepath.Join(dir, "orig-head"))
			if err == nil && failed == nil {
				return f.changed(set, strings.TrimSpace(string(onto))+"..."+strings.TrimSpace(string(from)))
			}
		}
		return nil
	}
	if f.has("--quit", "--edit-todo", "--show-current-patch") {
		return nil
	}
	before, _ := f.operands("--onto", "-s", "-X", "-x", "--exec", "-C", "--strategy", "--strategy-option")
	onto := ""
	for _, value := range f.values("--onto") {
		onto = value
	}
	upstream, branch := "@{upstream}", "HEAD"
	if f.has("--root") {
		before = append([]string{onto}, before...)
	}
	if len(before) > 0 {
		upstream = before[0]
	}
	if len(before) > 1 {
		branch = before[1]
	}
	if upstream == "" {
		return f.changed(set, branch)
	}
	if onto == "" && len(before) < 2 && !f.has("-i", "--interactive", "-x", "--exec", "--autosquash", "--autostash", "--root") {
		f.target, f.ours = upstream, []string{upstream + "...HEAD"}
		if len(f.differ(set, "HEAD..."+upstream)) == 0 {
			f.target, f.ours = "HEAD", nil
		}
	}
	out := f.changed(set, upstream+"..."+branch)
	if branch != "HEAD" {
		out = append(out, f.differ(set, "HEAD", branch)...)
	}
	if onto != "" {
		out = append(out, f.changed(set, onto+"..."+branch)...)
	}
	if f.has("--autostash") || f.line("config", "--bool", "rebase.autoStash") == "true" {
		out = append(out, f.local(set, f.head(), readable)...)
	}
	return out
}

// stash is writes for stash.
func (f *front) stash(set []string, readable bool) []string {
	sub, rest := "push", f.rest
	if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		sub, rest = rest[0], rest[1:]
	}
	part := &front{Paths: f.Paths, real: f.real, globals: f.globals, rest: rest}
	before, after := part.operands("-m", "--message", "--pathspec-from-file")
	switch sub {
	case "push", "save":
		out := f.local(set, f.head(), readable)
		f.target = f.head()
		if readable && part.has("-u", "--include-untracked", "-a", "--all") {
			others, err := f.names(set, "ls-files", "-z", "--full-name", "--others")
			if err != nil {
				return set
			}
			out = append(out, others...)
		}
		if specs := append(before, after...); sub == "push" && len(specs) > 0 {
			out = f.within(out, specs, "")
		}
		return out
	case "pop", "apply", "branch":
		ref := "stash@{0}"
		if sub == "branch" && len(before) > 0 {
			before = before[1:]
		}
		if len(before) > 0 {
			if ref = before[0]; strings.Trim(ref, "0123456789") == "" {
				ref = "stash@{" + ref + "}"
			}
		}
		if f.commit(ref) == "" {
			return nil // git says that there is none
		}
		out := f.differ(set, ref+"^1", ref)
		if f.commit(ref+"^3") == "" && sub != "branch" {
			f.target, f.ours = ref, []string{"HEAD", ref + "^1"}
		}
		if sub == "branch" {
			out = append(out, f.differ(set, "HEAD", ref+"^1")...)
		}
		if third := f.commit(ref + "^3"); third != "" {
			out = append(out, f.changed(set, "--no-walk", third)...)
		}
		return out
	}
	return nil
}

// patched is writes for am and apply: the paths of set that a patch names. A patch on the
// standard input is read into a file, which becomes the standard input.
func (f *front) patched(set []string) []string {
	if f.verb == "apply" && f.has("--stat", "--numstat", "--summary", "--check", "--cached") && !f.has("--apply") {
		return nil
	}
	if f.verb == "am" && f.has("--abort", "--skip", "--continue", "--resolved", "-r", "--quit") {
		return f.differ(set, "ORIG_HEAD", "HEAD")
	}
	before, after := f.operands("-p", "-C", "--directory", "--exclude", "--include", "--whitespace")
	var texts [][]byte
	for _, file := range append(before, after...) {
		_ = filepath.WalkDir(f.in(file), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() || err == nil && path == f.in(file) && !d.IsDir() {
				if text, err := os.ReadFile(path); err == nil {
					texts = append(texts, text)
				}
			}
			return nil
		})
	}
	if len(before)+len(after) == 0 || slices.Contains(before, "-") {
		text, err := f.spool()
		if err != nil {
			return set
		}
		texts = append(texts, text)
	}
	moved := f.has("-p", "--directory")
	return slices.DeleteFunc(slices.Clone(set), func(path string) bool {
		if moved {
			path = filepath.Base(path)
		}
		return !slices.ContainsFunc(texts, func(text []byte) bool { return names(text, path) })
	})
}

// names reports whether a header of a patch names a path.
func names(text []byte, path string) bool {
	for line := range bytes.Lines(text) {
		for _, start := range []string{"diff ", "--- ", "+++ ", "rename ", "copy "} {
			if bytes.HasPrefix(line, []byte(start)) && bytes.Contains(line, []byte(path)) {
				return true
			}
		}
	}
	return false
}

// in returns a path as git sees it, which -C may have led to another folder.
func (f *front) in(path string) string {
	for i := 0; i+1 < len(f.globals) && !filepath.IsAbs(path); i++ {
		if f.globals[i] == "-C" {
			path = filepath.Join(f.globals[i+1], path)
		}
	}
	return path
}

// spool reads the standard input and replaces it by a file with the same content.
func (f *front) spool() ([]byte, error) {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(f.Temp, "git-input-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return text, replaceStdin(file)
}
