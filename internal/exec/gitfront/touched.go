package gitfront

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
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
	if paths = f.writes(f.hidden, false); len(paths) > 0 {
		return paths, true
	}
	f.target, f.ours = "", nil
	paths = slices.DeleteFunc(f.writes(f.opened, true), func(path string) bool { return slices.Contains(f.Agreed, filepath.Join(f.top, path)) })
	if len(paths) > 0 {
		paths = f.unsettled(paths)
	}
	return paths, false
}

// has reports whether one of some flags is among the words before --.
func (f *front) has(flags ...string) bool {
	for _, w := range f.rest {
		if w == "--" {
			return false
		}
		name, _, _ := strings.Cut(w, "=")
		for _, flag := range append(letters(w), name) {
			if slices.Contains(flags, flag) {
				return true
			}
		}
	}
	return false
}

// letters returns the flags of one letter that a word joins, as in -qu.
func letters(w string) (out []string) {
	if len(w) < 3 || w[0] != '-' || strings.Trim(w[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil
	}
	for _, c := range w[1:] {
		out = append(out, "-"+string(c))
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
		case slices.Contains(values, w), len(letters(w)) > 0 && slices.Contains(values, "-"+w[len(w)-1:]):
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
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !slices.Contains(matched, p) })
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
		for i, w := range f.rest {
			if name, value, ok := strings.Cut(w, "="); ok && name == "--source" {
				source = value
			} else if (w == "-s" || w == "--source") && i+1 < len(f.rest) {
				source = f.rest[i+1]
			}
		}
		if source == "" && f.has("--staged", "-S") {
			source = "HEAD"
		}
		return f.files(set, readable, source, append(before, after...))
	case "bisect":
		return f.bisect(set)
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
			f.target = head()
			return f.local(set, f.target, readable)
		}
		before, _ := f.operands("-m", "-F", "-s", "-X", "--into-name")
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
			to := head()
			if first, err := os.ReadFile(f.line("rev-parse", "--path-format=absolute", "--git-path", "sequencer/head")); err == nil && f.has("--abort") && readable {
				to = strings.TrimSpace(string(first))
			}
			if f.has("--abort") {
				f.target = to
			}
			return f.local(set, to, readable)
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
		if f.verb != "mv" || len(specs) == 0 {
			return f.within(f.below(set), specs, "")
		}
		to := specs[len(specs)-1]
		out := f.within(f.below(set), specs[:len(specs)-1], "")
		if at, err := filepath.Abs(f.in(to)); err == nil && readable {
			if rel, err := filepath.Rel(f.top, at); err == nil && slices.ContainsFunc(set, func(p string) bool { return rel == p || strings.HasPrefix(rel, p+"/") }) {
				out = append(out, rel)
			}
		}
		return out
	case "filter-branch":
		return f.below(set)
	case "checkout-index":
		if readable {
			if !f.has("-f", "--force") {
				return nil
			}
			return f.differ(set)
		}
		if before, after := f.operands(); f.has("--ignore-skip-worktree-bits", "--stdin", "--temp") || len(before)+len(after) > 0 && len(f.within(set, append(before, after...), "")) > 0 {
			return set
		}
	case "sparse-checkout":
		if len(f.rest) > 0 && f.rest[0] != "list" {
			return slices.DeleteFunc(f.below(set), func(p string) bool { return !strings.Contains(p, "/") })
		}
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
	if f.verb == "checkout" && (len(after) > 0 || len(before) > 1 || len(before) == 1 && to == "" || f.has("--pathspec-from-file")) {
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
		return f.within(set, specs, source)
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
				if readable && f.has("--abort") {
					f.target = strings.TrimSpace(string(from))
					return f.local(set, f.target, readable)
				}
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
	for i, w := range f.rest {
		if value, ok := strings.CutPrefix(w, "--onto="); ok {
			onto = value
		} else if w == "--onto" && i+1 < len(f.rest) {
			onto = f.rest[i+1]
		}
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
	if onto == upstream {
		onto = "" // as git pull writes it
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

// bisect is writes for a plan of bisect, which runs git checkout for what it writes.
func (f *front) bisect(set []string) []string {
	before, _ := f.operands()
	switch {
	case !f.Plan || len(before) == 0:
		return nil
	case before[0] == "reset":
		start, err := os.ReadFile(f.line("rev-parse", "--path-format=absolute", "--git-path", "BISECT_START"))
		if f.target = strings.TrimSpace(string(start)); len(before) > 1 {
			f.target = before[1]
		}
		if err != nil || f.commit(f.target) == "" {
			return nil
		}
		return f.differ(set, "HEAD", f.target)
	case before[0] == "start" && len(before) > 2:
		f.target = anyCommit
		return append(f.changed(set, append([]string{before[1], "--not"}, before[2:]...)...), f.differ(set, "HEAD", before[1])...)
	case f.commit("refs/bisect/bad") == "":
		return nil
	}
	f.target = anyCommit
	return f.changed(set, "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*")
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
	moved := f.has("-p", "--directory") || slices.ContainsFunc(f.rest, func(w string) bool { return strings.HasPrefix(w, "-p") })
	out := slices.DeleteFunc(slices.Clone(set), func(path string) bool {
		if moved {
			path = filepath.Base(path)
		}
		return !slices.ContainsFunc(texts, func(text []byte) bool { return names(text, path) })
	})
	if len(out) == 0 {
		return nil
	}
	return f.exactly(out, texts)
}

// exactly returns the files of patches that are in some paths, or the paths if git does not tell.
func (f *front) exactly(paths []string, texts [][]byte) (out []string) {
	for _, text := range texts {
		cmd := f.command(append([]string{"apply", "--numstat", "-z"}, slices.DeleteFunc(slices.Clone(f.rest), func(w string) bool {
			return !strings.HasPrefix(w, "-p") && !strings.HasPrefix(w, "--directory=")
		})...)...)
		cmd.Stdin = bytes.NewReader(text)
		listed, err := cmd.Output()
		if err != nil {
			return paths
		}
		for _, entry := range split(string(listed)) {
			if w := strings.SplitN(entry, "\t", 3); len(w) == 3 {
				out = append(out, w[2])
			}
		}
	}
	out = slices.DeleteFunc(out, func(file string) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return file == p || strings.HasPrefix(file, p+"/") })
	})
	for _, p := range paths { // renamed, or below another folder
		if !slices.ContainsFunc(out, func(file string) bool { return file == p || strings.HasPrefix(file, p+"/") }) {
			out = append(out, p)
		}
	}
	return out
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
