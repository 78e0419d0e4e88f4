package gitfront

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// touched returns the closed paths, or else the hidden ones, that the subcommand would write.
// It is conservative: it may return a path that git would leave alone in the end.
func (f *front) touched() (paths []string, hidden bool) {
	if paths = f.writes(f.closed, true); len(paths) > 0 {
		return paths, false
	}
	if paths = f.writes(f.hiding, false); len(paths) > 0 {
		return paths, true
	}
	f.target, f.ours = "", nil
	paths = slices.DeleteFunc(f.writes(f.opened, true), func(path string) bool { return slices.Contains(f.Agreed, filepath.Join(f.top, path)) })
	if len(paths) > 0 {
		paths = f.unsettled(paths)
	}
	return paths, false
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
		return f.unless(set, states)
	}
	return names
}

// unless returns set, or nil if git knows no such revision, so that the subcommand fails.
func (f *front) unless(set, revisions []string) []string {
	for _, revision := range revisions {
		for _, name := range strings.Split(revision, "..") {
			name = strings.TrimLeft(name, "^.")
			if name != "" && name[0] != '-' && f.line("rev-parse", "--quiet", "--verify", "--end-of-options", name) == "" {
				return nil
			}
		}
	}
	return set
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
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	return slices.DeleteFunc(paths, func(p string) bool {
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
		return f.unless(set, revisions)
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
		switch {
		case f.has("--abort"):
			to := head()
			if first, err := os.ReadFile(f.inFolder("sequencer/head")); err == nil && readable {
				to = strings.TrimSpace(string(first))
			}
			f.target = to
			return f.local(set, to, readable)
		case f.has("--continue"):
			return f.waiting(set)
		case f.has("--skip"):
			return append(f.waiting(set), f.local(set, head(), readable)...)
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
		if f.has("--pathspec-from-file") {
			return f.below(set)
		}
		all := append(f.below(set), set...)
		if f.verb != "mv" || len(specs) == 0 {
			return f.within(all, specs, "")
		}
		to := specs[len(specs)-1]
		out := f.within(all, specs[:len(specs)-1], "")
		if at, err := filepath.Abs(f.in(to)); err == nil && readable {
			if rel, err := filepath.Rel(f.top, at); err == nil && slices.ContainsFunc(set, func(p string) bool { return inside(rel, p) }) {
				out = append(out, rel)
			}
		}
		return out
	case "filter-branch":
		return f.below(set)
	case "submodule":
		return f.submodule(set, readable)
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

// bisect is writes for a plan of bisect, which runs git checkout for what it writes.
func (f *front) bisect(set []string) []string {
	before, _ := f.operands()
	switch {
	case !f.Plan || len(before) == 0:
		return nil
	case before[0] == "reset":
		start, err := os.ReadFile(f.inFolder("BISECT_START"))
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
