package command

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// Some files of a repository cannot be mounted over, since git itself removes or rewrites them:
// those that name another folder, in linked worktrees, and the steps of a rebase that waits. Their
// contents before a command are stored. What a command changes there that would make git run
// something is put back as it was.

// rebaseSteps is the file with the steps of a rebase, in the folder of a repository or a linked
// worktree.
const rebaseSteps = "rebase-merge/git-rebase-todo"

// notice stores the contents of the files of a repository that a command might change.
func (w *watched) notice(n name) {
	text := string(readIn(w.bases, n.path, pointerLimit))
	if text != "" {
		w.pointers[n.path] = text
	}
}

// noticeRepo stores the steps of a waiting rebase and the way back to a linked worktree.
func (w *watched) noticeRepo(r repo) {
	if r.linked {
		w.notice(name{path: filepath.Join(r.dir, "gitdir")})
	}
	path := filepath.Join(r.dir, rebaseSteps)
	if text := readIn(w.bases, path, configLimit); text != nil {
		w.steps[path] = execLines(string(text))
	}
}

// readIn returns the content of a file in one of some folders, without following a link.
func readIn(bases []string, path string, limit int64) []byte {
	s, err := openParent(outermost(bases, path), path)
	if err != nil {
		return nil
	}
	defer s.close()
	return s.read(limit)
}

// execLines returns the lines of a rebase's steps that run a command.
func execLines(text string) []string {
	out := []string{}
	for line := range strings.Lines(text) {
		if word := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n\f\v", r) }); len(word) > 0 && (word[0] == "exec" || word[0] == "x") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// restoreSteps takes lines that run a command, and that running commands added, out of the steps
// of rebases that waited before.
func (g *guard) restoreSteps(bases []string) {
	for w := range g.running {
		for path, before := range w.steps {
			if g.opened(path) {
				continue
			}
			s, err := openParent(outermost(bases, path), path)
			if err != nil {
				folder := filepath.Dir(path)
				if errors.Is(err, errLinked) && g.quarantine(folder, bases) == nil {
					g.tell([]*watched{w}, folder)
				}
				continue
			}
			if at, err := s.look(); err == nil && at.kind != 0 && g.quarantine(path, bases) == nil {
				g.tell([]*watched{w}, path)
			}
			if text := string(s.read(configLimit)); text != "" {
				g.restoreStepsOf(w, s, path, text, slices.Clone(before))
			}
			s.close()
		}
	}
}

func (g *guard) restoreStepsOf(w *watched, s *spot, path, text string, before []string) {
	var kept strings.Builder
	var added []string
	for line := range strings.Lines(text) {
		if run := execLines(line); len(run) > 0 {
			i := slices.Index(before, run[0])
			if i < 0 {
				added = append(added, run[0])
				continue
			}
			before = slices.Delete(before, i, i+1)
		}
		kept.WriteString(line)
	}
	if len(added) == 0 || s.replace([]byte(kept.String())) != nil {
		return
	}
	g.log.Warn("steps that a command added to a waiting rebase were taken out", "file", path)
	for _, line := range added {
		w.tellRestored("the step " + plain.Quote(plain.Line(line)) + " of " + plain.Line(path) + " was taken out: git rebase --continue of the user would run it. If it is wanted, ask the user to add it with git rebase --edit-todo")
	}
}

// restorePointers writes the files again that name another folder, and that a running command
// made name a folder from which git would run something, or removed from a folder that stays.
func (g *guard) restorePointers(bases []string, ended []*watched) {
	for w := range g.running {
		// A file gitdir is compared with a file .git, so that comes first.
		for _, path := range slices.SortedFunc(maps.Keys(w.pointers), func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) }) {
			text := w.pointers[path]
			if g.opened(path) {
				continue
			}
			s, err := openParent(outermost(bases, path), path)
			if err != nil {
				continue
			}
			now, err := s.look()
			gone := err != nil
			switch {
			case !gone && now.kind == 0 && string(s.read(pointerLimit)) == text:
			case gone && !w.taken[path] && (filepath.Base(path) != "commondir" || !slices.Contains(ended, w)):
			case filepath.Base(path) == "gitdir" && (gone || !lost(path, text, string(s.read(pointerLimit)))):
			case !gone && filepath.Base(path) != "gitdir": // it was found harmless
			case s.replace([]byte(text)) == nil:
				g.log.Warn("a file that names a repository was put back", "file", path)
				w.tellRestored(plain.Line(path) + " was put back as it was: it decides which settings git reads, and commands do not change it")
			}
			delete(w.taken, path)
			s.close()
		}
	}
}

// lost reports whether a linked worktree has lost its way back: its file gitdir named a file .git
// that still names the folder of the worktree, and now names another one that does not.
func lost(path, before, now string) bool {
	names := func(text string) bool {
		git := strings.TrimRight(text, "\r\n")
		if !filepath.IsAbs(git) {
			git = filepath.Join(filepath.Dir(path), git)
		}
		return pointed(git, readSome(git)) == filepath.Dir(path)
	}
	return names(before) && !names(now)
}
