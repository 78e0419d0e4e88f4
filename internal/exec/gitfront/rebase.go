package gitfront

import (
	"os"
	"path/filepath"
	"strings"
)

// rebase is writes for rebase. A rebase that waits goes on with the commits that it has.
func (f *front) rebase(set []string, readable bool) []string {
	if f.has("--continue", "--skip", "--abort") {
		for _, state := range []string{"rebase-merge", "rebase-apply"} {
			dir := f.inFolder(state)
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

// waiting returns the paths of set that the commits of a cherry-pick or revert change that waits.
func (f *front) waiting(set []string) []string {
	todo, _ := os.ReadFile(f.inFolder("sequencer/todo"))
	commits := []string{"--no-walk"}
	for line := range strings.Lines(string(todo)) {
		if words := strings.Fields(line); len(words) > 1 && !strings.HasPrefix(line, "#") {
			commits = append(commits, words[1])
		}
	}
	if len(commits) == 1 {
		return nil
	}
	return f.changed(set, commits...)
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
