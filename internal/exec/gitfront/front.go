// Package gitfront runs git for commands in the sandbox, in repositories that have files
// which the command may not read (hidden) or not change (closed).
//
// The sandbox mounts Stub over git. Most subcommands go straight to the real git. For the
// others, Run computes which hidden and closed paths the subcommand would write, and refuses
// it before anything changes. To git, hidden files of the index are files that a sparse
// checkout leaves out (skip-worktree), in a copy of the index. Nothing depends on Run for
// safety: what bypasses it meets the mounts.
package gitfront

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Arg is the first argument of a process that must call Run.
const Arg = "git-front"

// passed lists the subcommands that neither write the working tree nor compare it.
const passed = "log|show|rev-parse|rev-list|config|branch|tag|remote|fetch|push|clone|init|cat-file|ls-tree|ls-remote|merge-base|for-each-ref|show-ref|symbolic-ref|reflog|blame|shortlog|name-rev|var|version|--version|hash-object|update-ref|gc|count-objects|check-ignore|check-attr|credential|upload-pack|receive-pack|pack-objects|index-pack|unpack-objects|maintenance|help"

// Paths is the message from the server to Run, in the file "paths" of its folder. The folder
// also holds the program that calls Run, as "front", and each real git, as "N/git".
type Paths struct {
	Hidden, Closed []string // existing absolute paths, links resolved
	Temp           string   // a folder that the command may write
	// Opened lists closed paths that the command may change as far as the result is one of
	// States: for each absolute path, what commits before the command have there.
	Opened []string
	States map[string][]string
	Agreed []string // files below Opened that the user lets the command change
	Shown  bool     // the user did not agree although the text of the command shows git
	Plan   bool     // print a Planned, and run nothing
}

// Stub returns the shell script that is mounted over the git with a number. For a plan, Run gets
// all subcommands.
func Stub(folder string, number int, plan bool) string {
	passed := passed
	if plan {
		passed = "''"
	}
	real := filepath.Join(folder, strconv.Itoa(number), "git")
	return "#!/bin/sh\ncase ${0##*/} in git) case $1 in\n" + passed + ") exec " + quote(real) + ` "$@" ;; esac ;; esac` +
		"\nexec " + quote(filepath.Join(folder, "front")) + " " + Arg + " " + quote(folder) + " " + quote(real) + ` "${0##*/}" "$@"` + "\n"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// front is one run of git.
type front struct {
	Paths
	real    string
	globals []string // flags before the subcommand
	verb    string
	rest    []string // words after it, with one flag in each
	at      int      // number of words up to the subcommand; 0: it comes from an alias
	top     string   // top folder of the working tree
	dir     string   // folder of the repository
	hiding  []string // hidden paths, relative to top
	hidden  []string // tracked files among them or below them
	closed  []string // closed paths, relative to top
	opened  []string // opened paths, relative to top
	target  string   // commit whose files the subcommand writes; ":": the index; "": not known
	ours    []string // states that must be equal for that, as for git diff
}

// Run runs git with args: the folder of Stub, the real git, the name by which git was called,
// and git's arguments. It returns the exit code.
func Run(args []string) int {
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, Arg+" is how the sandbox runs git; it is not for use by hand")
		return 2
	}
	folder, real, words := args[0], args[1], args[3:]
	if verb, ok := strings.CutPrefix(args[2], "git-"); ok {
		words = append([]string{verb}, words...)
	}
	f := &front{real: real}
	text, err := os.ReadFile(filepath.Join(folder, "paths"))
	if err == nil {
		err = json.Unmarshal(text, &f.Paths)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "fatal: the sandbox cannot run git: %v\n", err)
		return 128
	}
	f.dropForeignView()
	if f.parse(words); f.verb == "" || f.find() != nil {
		if f.Plan {
			return 0
		}
		return become(real, words)
	}
	if f.Plan {
		return f.plan()
	}
	if touched, hidden := f.touched(); len(touched) > 0 {
		fmt.Fprint(os.Stderr, refusal(f.verb, touched, hidden, f.next()))
		return 128
	}
	if f.verb == "clean" && f.at > 0 {
		words = slices.Insert(slices.Clone(words), f.at, "-e", generatedHooks)
	}
	if slices.Contains(known, f.verb) && f.verb != "clean" {
		f.leaveOut()
	}
	if len(f.hidden) == 0 || !slices.Contains(viewing, f.verb) && !slices.Contains(indexing, f.verb) {
		if moved, err := f.move(f.index()); moved {
			return code(err)
		}
		return become(real, words)
	}
	return f.view(words)
}

// refusal is the error for a subcommand that would write some paths. next is the next step for
// protected ones.
func refusal(verb string, paths []string, hidden bool, next string) string {
	more := ""
	if len(paths) > 5 {
		more = fmt.Sprintf(" and %d more", len(paths)-5)
		paths = paths[:5]
	}
	list := strings.Join(paths, ", ") + more
	if hidden {
		return fmt.Sprintf("fatal: git %s would write %s, which the user's rules hide from commands. Nothing was changed; name the other files, as in git commit FILES, or ask the user to run it\n", verb, list)
	}
	return fmt.Sprintf("fatal: git %s would change %s, which is protected. Nothing was changed; %s\n", verb, list, next)
}

// next returns the next step after a refusal. Git commands that the text of a command shows are
// planned: then paths are opened, or the user is asked.
func (f *front) next() string {
	const so = ": then it is opened, or the user is asked"
	before, after := f.operands()
	switch {
	case f.Shown:
		return "ask the user to run it"
	case strings.HasPrefix(os.Getenv("GIT_REFLOG_ACTION"), "pull"):
		return "it was fetched, so run git " + f.verb + " FETCH_HEAD as a command of its own" + so
	case (f.verb == "am" || f.verb == "apply") && (len(before)+len(after) == 0 || slices.Contains(before, "-")):
		return "store the patch in a file and run git " + f.verb + " FILE as a command of its own" + so
	}
	return "run this git " + f.verb + " as a command of its own, in literal words" + so
}

// parse splits git's arguments and expands an alias.
func (f *front) parse(words []string) {
	i := globals(words)
	if i >= len(words) {
		return
	}
	f.globals = slices.DeleteFunc(slices.Clone(words[:i]), func(w string) bool {
		return strings.HasSuffix(w, "-pathspecs") || w == "-p" || w == "--paginate"
	})
	f.verb, f.rest, f.at = words[i], words[i+1:], i+1
	for range 5 {
		if slices.Contains(known, f.verb) {
			f.rest = single(f.verb, f.rest)
			return
		}
		alias := strings.Fields(f.line("config", "--get", "alias."+f.verb))
		if len(alias) == 0 || strings.HasPrefix(alias[0], "!") {
			return // a shell runs it, and git in it comes here again
		}
		for len(alias) > 1 && strings.HasPrefix(alias[0], "-") {
			alias = alias[1:]
		}
		f.verb, f.rest, f.at = alias[0], slices.Concat(alias[1:], f.rest), 0
	}
}

// find finds the repository, and the hidden and closed paths in it.
func (f *front) find() error {
	out, err := f.git("rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	f.top, f.dir = strings.TrimSuffix(out, "\n"), f.line("rev-parse", "--absolute-git-dir")
	below := func(paths []string) (out []string) {
		for _, path := range paths {
			if inside(f.top, path) {
				return []string{""} // all of the working tree
			}
			if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(f.top, "/")+"/"); ok && !inside(rel, ".git") {
				out = append(out, rel)
			}
		}
		return out
	}
	f.closed, f.opened = below(f.Closed), below(f.Opened)
	f.hiding = slices.DeleteFunc(below(f.Hidden), func(path string) bool { return path == "" })
	if len(f.closed)+len(f.hiding)+len(f.opened) == 0 {
		return os.ErrNotExist
	}
	f.hidden, err = f.names(f.hiding, "ls-files", "-z", "--full-name")
	return err
}

// inside reports whether a clean path is a folder or below it.
func inside(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// literal returns pathspecs that match exactly some paths and what is below them.
func literal(paths []string) (out []string) {
	for _, path := range paths {
		out = append(out, ":(top,literal)"+path)
	}
	return out
}

// names returns the paths that git prints with -z, of those in set.
func (f *front) names(set []string, args ...string) ([]string, error) {
	if len(set) == 0 {
		return nil, nil
	}
	out, err := f.git(append(append(args, "--"), literal(set)...)...)
	return split(out), err
}

func split(out string) []string {
	names := strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
	slices.Sort(names)
	return slices.Compact(names)
}

// git runs the real git, with the flags before the subcommand, and returns its output.
func (f *front) git(args ...string) (string, error) {
	out, err := f.command(args...).Output()
	return string(out), err
}

// command returns the command of git.
func (f *front) command(args ...string) *exec.Cmd {
	cmd := exec.Command(f.real, slices.Concat(f.globals, []string{"-c", "core.fsmonitor=false", "-c", "diff.ignoreSubmodules=all"}, args)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=0", "GIT_GLOB_PATHSPECS=0", "GIT_NOGLOB_PATHSPECS=0", "GIT_ICASE_PATHSPECS=0", "LC_ALL=C")
	return cmd
}

// with returns a command that runs the real git in the top folder, with an index.
func (f *front) with(index string, args ...string) *exec.Cmd {
	var settings []string
	for i := 0; i+1 < len(f.globals); i++ {
		if f.globals[i] == "-c" || f.globals[i] == "--config-env" {
			settings = append(settings, f.globals[i], f.globals[i+1])
			i++
		}
	}
	cmd := exec.Command(f.real, append(settings, args...)...)
	cmd.Dir = f.top
	cmd.Env = append(os.Environ(), "GIT_DIR="+f.dir, "GIT_WORK_TREE="+f.top, "GIT_INDEX_FILE="+index)
	return cmd
}

// inFolder returns the path of a file of git in the folder of the repository.
func (f *front) inFolder(name string) string {
	return f.line("rev-parse", "--path-format=absolute", "--git-path", name)
}

// line returns the first line that git prints; "" if it fails.
func (f *front) line(args ...string) string {
	out, err := f.git(args...)
	if err != nil {
		return ""
	}
	out, _, _ = strings.Cut(out, "\n")
	return out
}
