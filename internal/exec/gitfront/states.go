package gitfront

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Absent is the state of a path where there is nothing.
const Absent = "absent"

// plan prints the States of the opened paths that the subcommand would write, if it would
// leave each of them in one of these states. It runs no subcommand that changes anything.
func (f *front) plan() int {
	paths := f.writes(f.closed, true)
	if paths = append(paths, f.writes(f.hiding, false)...); len(paths) > 0 {
		return 0 // git refuses it
	}
	f.target, f.ours = "", nil
	paths = f.writes(f.opened, true)
	if len(paths) == 0 {
		return 0
	}
	entries := slices.DeleteFunc(slices.Clone(f.opened), func(entry string) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return p == entry || strings.HasPrefix(p, entry+"/") })
	})
	if f.States = f.states(entries); f.States == nil || !f.settles(paths) {
		return 0
	}
	text, err := json.Marshal(f.States)
	if err != nil {
		return 1
	}
	fmt.Println(string(text))
	return 0
}

// states returns what the commits of all branches, tags and logs have at some paths and below
// them; nil if git fails. A state is a mode and a blob, or Absent.
func (f *front) states(set []string) map[string][]string {
	out := map[string][]string{}
	log := func(roots bool, args ...string) bool {
		text, err := f.git(slices.Concat(args, []string{"--all", "--reflog", "-m", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--format=", "--"}, literal(set))...)
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

// settles reports whether the subcommand leaves some paths as a commit has them, in one of
// their States.
func (f *front) settles(paths []string) bool {
	if f.target == "" || f.has(partial[f.verb]...) || len(f.ours) > 0 && len(f.differ(paths, f.ours...)) > 0 {
		return false
	}
	target := f.target
	if target != ":" {
		if target = f.commit(target); target == "" {
			return false
		}
	}
	for _, path := range paths {
		now := Absent
		var text string
		var err error
		if target == ":" {
			text, err = f.git(append([]string{"ls-files", "-s", "-z", "--full-name", "--"}, literal([]string{path})...)...)
		} else {
			text, err = f.git("ls-tree", "-z", "--full-tree", target, "--", path)
		}
		if err != nil || strings.Count(text, "\x00") > 1 {
			return false
		}
		if w := strings.Fields(text); len(w) > 2 {
			now = state(w[0], w[1])
			if target != ":" {
				now = state(w[0], w[2])
			}
		}
		if !slices.Contains(f.States[filepath.Join(f.top, path)], now) {
			return false
		}
	}
	return true
}

// Opens reports whether git with these arguments may write files of commits, so that a plan is
// of use. Settings among the arguments could make the plan run a program, so it is false then.
func Opens(words []string) bool {
	for len(words) > 2 && words[0] == "-C" {
		words = words[2:]
	}
	return len(words) > 0 && slices.Contains([]string{"checkout", "switch", "restore", "reset", "merge", "rebase", "cherry-pick", "revert", "stash"}, words[0])
}
