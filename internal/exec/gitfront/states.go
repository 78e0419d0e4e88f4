package gitfront

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Absent is the state of a path where there is nothing.
const Absent = "absent"

// Planned is what a plan prints, as a line of JSON.
type Planned struct {
	// States holds, for the files of opened paths that the subcommand leaves as commits have them,
	// and for the other files of these paths, what commits have there.
	States map[string][]string
	// Asked lists further protected files that the subcommand would change, as absolute paths.
	Asked []string
}

// Undone is a variable that is set for the plan of a subcommand whose change a later one takes
// back, so that no commit has the result.
const Undone = "MCP_TOOLSET_GIT_UNDONE"

// plan prints what the subcommand would do to protected files. It changes nothing.
func (f *front) plan() int {
	if f.verb == "pull" && !f.pulls() || len(f.writes(f.hiding, false)) > 0 {
		return 0 // not known yet, or refused
	}
	var out Planned
	asked := f.writes(f.closed, true)
	f.target, f.ours = "", nil
	if paths := f.writes(f.opened, true); len(paths) > 0 {
		entries := slices.DeleteFunc(slices.Clone(f.opened), func(entry string) bool {
			return !slices.ContainsFunc(paths, func(p string) bool { return inside(p, entry) })
		})
		f.States = f.states(entries)
		open := paths
		if os.Getenv(Undone) == "" {
			open = f.unsettled(paths)
		}
		if asked = append(asked, open...); len(open) < len(paths) {
			out.States = f.States
		}
	}
	for _, path := range asked {
		out.Asked = append(out.Asked, filepath.Join(f.top, path))
	}
	if len(out.States)+len(out.Asked) == 0 {
		return 0
	}
	text, err := json.Marshal(out)
	if err != nil {
		return 1
	}
	fmt.Println(string(text))
	return 0
}

// pulls turns a pull into the merge or the rebase that it would do with what was fetched before.
// It returns false if that is not known.
func (f *front) pulls() bool {
	before, after := f.operands("-s", "--strategy", "-X", "--strategy-option", "--depth", "--deepen", "-o", "--server-option", "--upload-pack", "-j", "--jobs")
	to := "@{upstream}"
	switch before = append(before, after...); {
	case len(before) > 2:
		return false
	case len(before) == 2:
		ref, _, _ := strings.Cut(strings.TrimPrefix(before[1], "+"), ":")
		if to = ref; before[0] != "." {
			to = "refs/remotes/" + before[0] + "/" + strings.TrimPrefix(ref, "refs/heads/")
		}
	}
	rebase := f.line("config", "--get", "pull.rebase")
	if branch := f.line("symbolic-ref", "--short", "-q", "HEAD"); branch != "" {
		if own := f.line("config", "--get", "branch."+branch+".rebase"); own != "" {
			rebase = own
		}
	}
	var flags []string
	for _, w := range f.rest {
		switch name, value, _ := strings.Cut(w, "="); {
		case name == "--rebase" || w == "-r":
			rebase = value
			if value == "" {
				rebase = "true"
			}
		case w == "--no-rebase":
			rebase = "false"
		case w != "--" && !slices.Contains(before, w):
			flags = append(flags, w)
		}
	}
	if f.commit(to) == "" {
		return false
	}
	f.verb, f.rest = "merge", append(flags, to)
	if rebase != "" && rebase != "false" {
		f.verb, f.rest = "rebase", []string{to}
	}
	return true
}

// states returns what the commits of all branches, tags and logs, and the target, have at some
// paths and below them; nil if git fails. A state is a mode and a blob, or Absent.
func (f *front) states(set []string) map[string][]string {
	out := map[string][]string{}
	from := []string{"--all", "--reflog"}
	if target := f.commit(f.target); target != "" { // an index is none
		from = append(from, target)
	}
	log := func(roots bool, args ...string) bool {
		text, err := f.git(slices.Concat(args, from, []string{"-m", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--format=", "--"}, literal(set))...)
		words := strings.Split(text, "\x00")
		for i := 0; i+1 < len(words); i++ {
			raw, ok := strings.CutPrefix(strings.Trim(words[i], "\n"), ":")
			if w := strings.Fields(raw); ok && len(w) == 5 {
				i++
				path := filepath.Join(f.top, words[i])
				if !roots {
					out[path] = append(out[path], state(w[0], w[2]))
				}
				out[path] = append(out[path], state(w[1], w[3]))
			}
		}
		return err == nil
	}
	// What a first commit adds was absent in no commit.
	if !log(false, "-c", "log.showRoot=false", "log") || !log(true, "log", "--root", "--max-parents=0") {
		return nil
	}
	for path, states := range out {
		slices.Sort(states)
		out[path] = slices.Compact(states)
	}
	return out
}

// state returns the state for a mode and a blob, as git prints them.
func state(mode, blob string) string {
	if strings.Trim(mode, "0") == "" {
		return Absent
	}
	return mode + " " + blob
}

// partial lists flags with which subcommands write something else than the files of a commit.
var partial = map[string][]string{
	"checkout": {"-p", "--patch", "-m", "--merge", "--conflict"}, "switch": {"-m", "--merge", "--conflict"},
	"restore": {"-p", "--patch"}, "reset": {"-p", "--patch"}, "merge": {"-s", "--strategy", "-X", "--strategy-option", "--continue"},
	"cherry-pick": {"-m", "--mainline", "-X", "-s", "--strategy", "--strategy-option"}, "revert": {"-m", "--mainline", "-X", "--strategy", "--strategy-option"},
	"stash": {"-p", "--patch", "-k", "--keep-index", "-S", "--staged"}, "rebase": {"-X", "--strategy", "--strategy-option"},
}

// unsettled returns those of some paths that the subcommand does not surely leave as a commit has
// them, in one of their States. A plan adds what attributes of git turn that state into.
func (f *front) unsettled(paths []string) (out []string) {
	target := f.target
	if target == anyCommit {
		return slices.DeleteFunc(slices.Clone(paths), f.unconverted)
	}
	if target != ":" && target != "" {
		target = f.commit(target)
	}
	if target == "" || f.has(partial[f.verb]...) {
		return paths
	}
	if len(f.ours) > 0 {
		out = f.differ(paths, f.ours...)
	}
	for _, path := range paths {
		now, ok := f.of(target, path)
		at := filepath.Join(f.top, path)
		if ok = ok && slices.Contains(f.States[at], now); ok && f.Plan {
			var written string
			if written, ok = f.written(target, path, now); ok {
				f.States[at] = append(f.States[at], written)
			}
		}
		if !ok && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// anyCommit is a target of which is only known that it is a commit.
const anyCommit = "*"

// unconverted reports whether git writes a file as commits have it.
func (f *front) unconverted(path string) bool {
	head := f.head()
	now, ok := f.of(head, path)
	if !ok || now == Absent {
		return ok
	}
	written, ok := f.written(head, path, now)
	return ok && written == now
}

// of returns the state of a path in a commit, or in the index for ":".
func (f *front) of(target, path string) (string, bool) {
	args, blob := []string{"ls-tree", "-z", "--full-tree", target, "--", path}, 2
	if target == ":" {
		args, blob = append([]string{"ls-files", "-s", "-z", "--full-name", "--"}, literal([]string{path})...), 1
	}
	text, err := f.git(args...)
	if err != nil || strings.Count(text, "\x00") > 1 {
		return "", false
	}
	if w := strings.Fields(text); len(w) > 2 {
		return state(w[0], w[blob]), true
	}
	return Absent, true
}

// written returns the state that a file has after git has written it, which may convert line
// endings and the encoding. It returns false if a program converts it, or if the attributes of
// the target are not those of now.
func (f *front) written(target, path, state string) (string, bool) {
	mode, blob, _ := strings.Cut(state, " ")
	if !strings.HasPrefix(mode, "100") {
		return state, true
	}
	attributes := []string{"diff", "--name-only"}
	if target != ":" {
		attributes = append(attributes, target)
	}
	if text, err := f.git(append(attributes, "--", ":(top,glob)**/.gitattributes")...); err != nil || text != "" && path != ".gitattributes" {
		return "", false
	}
	text, err := f.git("check-attr", "-z", "filter", "--", filepath.Join(f.top, path))
	if w := strings.Split(text, "\x00"); err != nil || len(w) < 3 || w[2] != "unspecified" && w[2] != "unset" {
		return "", false
	}
	content, err := f.git("cat-file", "--filters", "--path="+path, blob)
	return mode + " " + Blob([]byte(content), len(blob)), err == nil
}

// Blob returns the name that git gives to a content, in a repository whose names have a length.
func Blob(content []byte, length int) string {
	var h hash.Hash = sha1.New()
	if length > 40 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// globals returns the number of git's flags before the subcommand, with their values, in words.
func globals(words []string) (n int) {
	for ; n < len(words) && strings.HasPrefix(words[n], "-"); n++ {
		if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"}, words[n]) {
			n++
		}
	}
	return min(n, len(words))
}

// untouched lists further subcommands that change no file of the working tree that has a name in
// the index.
const untouched = "status|diff|difftool|diff-files|diff-index|describe|ls-files|grep|add|stage|commit|update-index|write-tree|worktree|notes|format-patch|archive|bundle|cherry|fsck|merge-file|merge-tree|patch-id|range-diff|repack|request-pull|rerere|send-email|stripspace|submodule--helper|whatchanged"

// Stash reports whether git with these arguments puts changes away, and whether it brings them
// back.
func Stash(words []string) (away, back bool) {
	words = words[globals(words):]
	if len(words) == 0 || words[0] != "stash" {
		return false, false
	}
	if len(words) > 1 && !strings.HasPrefix(words[1], "-") {
		return words[1] == "push" || words[1] == "save", words[1] == "pop" || words[1] == "apply"
	}
	return true, false
}

// Elsewhere reports whether git with these arguments uses a repository that a flag names. Nobody
// has checked the settings of that, by which a plan could run a program that prints false states.
func Elsewhere(words []string) bool {
	return slices.ContainsFunc(words[:globals(words)], func(w string) bool {
		return strings.HasPrefix(w, "--git-dir") || strings.HasPrefix(w, "--work-tree")
	})
}

// Writes reports whether git with these arguments may write files that it tracks, so that a plan
// is of use. Settings among the arguments could make the plan run a program, so those for which
// plain is false make no plan.
func Writes(words []string, plain func(setting string) bool) bool {
	n := globals(words)
	for i, w := range words[:n] {
		if w == "--config-env" || strings.HasPrefix(w, "--config-env=") || strings.HasPrefix(w, "--exec-path=") || w == "-c" && (i+1 >= n || !plain(words[i+1])) {
			return false
		}
	}
	return n < len(words) && !slices.Contains(strings.Split(passed+"|"+untouched, "|"), words[n])
}
