package shellsafe

import (
	"path"
	"slices"
	"strings"
)

// The functions of this file find commands that print the content of files that
// they do not name, for rules on reading files.

// namesOnly lists programs that show names and attributes of files, and programs
// that run another one, which is a Command of its own.
const namesOnly = "ls dir vdir stat file du df readlink realpath basename dirname pathchk tree fd fdfind find lsattr getfacl namei mountpoint test [ [[ cd wc xargs timeout"

// Unnamed returns the first command that may print the content of files that it
// does not name: all below a folder, or those that another program finds. It
// returns "" if there is none. The analysis must be ReadOnly.
func (a *Analysis) Unnamed() string {
	for i := range a.Commands {
		if c := &a.Commands[i]; c.unnamed() {
			return c.Text
		}
	}
	return ""
}

func (c *Command) unnamed() bool {
	switch {
	case c.Name == "" || has(namesOnly, c.Name):
		return false
	case c.Name == "git":
		words := afterGlobals(c.Words[1:])
		return len(words) > 0 && has("diff grep diff-files diff-index", words[0]) && !quietDiff(words[1:])
	case c.Name == "diff", c.Inner && c.KnownPrefix != "":
		return true
	case strings.HasSuffix(c.Name, "grep") && flagged(c.Words[1:], "-r -R -d --recursive --dereference-recursive --directories"):
		return true
	}
	return slices.ContainsFunc(c.reads, func(p Path) bool { return p.Below || p.Dynamic && !p.Glob })
}

// GitContents returns the first command that makes git print content from its
// objects without naming the file, as git log -p and git archive do. It returns ""
// if there is none.
func (a *Analysis) GitContents() string {
	for i := range a.Commands {
		c := &a.Commands[i]
		words := c.Words
		if verb, ok := strings.CutPrefix(c.Name, "git-"); ok && verb != "" {
			words = append([]string{"git", verb}, words[1:]...)
		} else if c.Name != "git" {
			continue
		}
		if gitContents(afterGlobals(words[1:]), c.Inner && c.KnownPrefix != "") {
			return c.Text
		}
	}
	return ""
}

const (
	gitPatch   = "-p -u -c -U --patch --patch-with-stat --patch-with-raw --unified --binary --word-diff --word-diff-regex --color-words --cc --dd --remerge-diff --diff-merges --function-context"
	gitSummary = "-s --stat --shortstat --numstat --dirstat --summary --name-only --name-status --raw --no-patch --compact-summary --quiet --cumulative"
	// gitSeparate lists flags of a diff whose value may be the next word.
	gitSeparate = "-G -S -O -X -U -l -n -L -I -F --anchored --word-diff-regex --ws-error-highlight --src-prefix --dst-prefix --line-prefix --diff-filter --rotate-to --skip-to --find-object --inter-hunk-context --skip --max-count --grep --author --committer --since --until --after --before --date --format --encoding"
	// gitOthers lists the subcommands that may print content.
	gitOthers = "show diff difftool grep cat-file archive format-patch bundle fast-export fast-import range-diff rerere unpack-file merge-file merge-tree checkout-index pack-objects request-pull send-email upload-pack upload-archive receive-pack instaweb imap-send gui citool daemon filter-branch filter-repo svn p4 cvsimport http-backend http-fetch subtree quiltimport shell show-index backfill diff-pairs replay last-modified refs send-pack http-push"
	// gitNoContents lists the subcommands that print no content except with -p.
	gitNoContents = "add am apply bisect blame annotate branch checkout cherry cherry-pick check-attr check-ignore check-mailmap check-ref-format clean clone column commit commit-graph commit-tree config count-objects credential describe diff-files diff-index diff-tree fetch fetch-pack flow for-each-ref for-each-repo fsck gc get-tar-commit-id hash-object help hook index-pack init interpret-trailers lfs log ls-files ls-remote ls-tree maintenance merge merge-base mergetool mktag mktree multi-pack-index mv name-rev notes pack-refs prune pull push read-tree rebase reflog remote remote-ext repack replace reset restore rev-list rev-parse revert rm send-pack shortlog show-branch show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree write-tree --version --help --exec-path"
)

// gitContents reports whether git prints the content of files that its words do not
// name. fed means that further words are known only at run time. An unknown
// subcommand may be an alias.
func gitContents(words []string, fed bool) bool {
	if len(words) == 0 {
		return fed
	}
	verb, rest := words[0], words[1:]
	unknown := fed || dynamic(rest)
	if slices.ContainsFunc(rest, func(w string) bool { return strings.Contains(w, "%(raw") }) {
		return true
	}
	if slices.ContainsFunc(rest, func(w string) bool { return strings.HasPrefix(w, "--show-current-patch") }) {
		return true
	}
	switch verb {
	case "bisect":
		return len(rest) > 0 && has("visualize view", rest[0])
	case "notes":
		return flagged(rest, "-C -c --reuse-message --reedit-message")
	case "fsck":
		return flagged(rest, "--lost-found")
	case "update-index":
		return flagged(rest, "--cacheinfo --index-info")
	case "show":
		if revs := operands(rest); !unknown && len(revs) > 0 && !slices.ContainsFunc(revs, func(w string) bool { return !namesBlob(w) }) {
			return false
		}
		return unknown || !quietDiff(rest) && !gitNamed(rest)
	case "diff", "difftool":
		revs := slices.ContainsFunc(gitRevisions(rest), func(w string) bool { return !namesFile(w) })
		return unknown || (revs || flagged(rest, "--cached --staged --merge-base")) && !flagged(rest, "--no-index") && !quietDiff(rest) && !gitNamed(rest)
	case "grep":
		if at := slices.IndexFunc(rest, func(w string) bool { return !strings.HasPrefix(w, "-") }); at >= 0 && !flagged(rest, "-e -f") {
			rest = slices.Delete(slices.Clone(rest), at, at+1) // the pattern, or the value of a flag before it
		}
		revs := slices.DeleteFunc(gitRevisions(rest), namesFile)
		return unknown || (len(revs) > 0 || flagged(rest, "--cached")) && !gitNamed(rest)
	case "log", "whatchanged", "reflog", "diff-tree", "diff-index", "diff-files", "rev-list":
		return unknown || flagged(rest, gitPatch) && !gitNamed(rest)
	case "cat-file":
		if flagged(rest, "--batch --batch-command --batch-all-objects") && !slices.ContainsFunc(rest, func(w string) bool { return strings.HasPrefix(w, "--batch-check") }) {
			return true
		}
		plain := operands(rest)
		return unknown || !flagged(rest, "-t -s -e --batch-check") && (len(plain) == 0 || !namesBlob(plain[len(plain)-1]))
	case "stash":
		show := len(rest) > 0 && has("show list", rest[0])
		return show && (unknown || flagged(rest, gitPatch)) || !show && flagged(rest, "-p --patch")
	case "add", "checkout", "restore", "reset", "stage":
		return flagged(rest, "-p --patch -i --interactive")
	case "status":
		return flagged(rest, "-v --verbose")
	case "commit":
		return flagged(rest, "-p --patch --interactive") || flagged(rest, "-v --verbose") && flagged(rest, "--dry-run --short --porcelain --long")
	case "checkout-index":
		return flagged(rest, "--temp")
	case "archive":
		return !flagged(rest, "-l --list")
	case "bundle":
		return len(rest) > 0 && rest[0] == "create"
	}
	return !has(gitNoContents, verb)
}

// quietDiff reports whether the flags reduce a diff to a summary.
func quietDiff(rest []string) bool {
	for i, w := range rest {
		if w == "--" {
			break
		}
		if name, _, _ := strings.Cut(w, "="); has(gitSummary, name) && (i == 0 || !has(gitSeparate, rest[i-1])) {
			return !flagged(rest, gitPatch)
		}
	}
	return false
}

// namesBlob reports whether a word is REV:PATH with a known path.
func namesBlob(w string) bool {
	_, name, ok := strings.Cut(w, ":")
	return ok && name != "" && !strings.HasPrefix(w, ":/") && !strings.ContainsAny(w, unknown) && !strings.Contains(w, "^{/")
}

// namesFile reports whether a word is REV:PATH and the path seems to be a file. For
// a folder, diff and grep print all its files.
func namesFile(w string) bool {
	_, name, _ := strings.Cut(w, ":")
	return namesBlob(w) && plainFile(name)
}

// plainFile reports whether a path seems to be a file, judged by its name.
func plainFile(p string) bool {
	name := path.Base(p)
	return !strings.HasSuffix(p, "/") && !strings.HasPrefix(p, ":") && !strings.ContainsAny(p, unknown+`\`) && (hasExtension(name) || has(plainFiles, name)) && !strings.HasSuffix(name, ".d")
}

// gitRevisions returns the operands that may be revisions: those before -- that are
// not written like paths.
func gitRevisions(rest []string) (revs []string) {
	for i, w := range rest {
		switch {
		case w == "--":
			return revs
		case strings.HasPrefix(w, "-"), i > 0 && has("-e -f -A -B -C -m --max-count --max-depth -O", rest[i-1]):
		case w == ".", w == "..", strings.HasPrefix(w, "./"), strings.HasPrefix(w, "../"), strings.HasPrefix(w, "/"), strings.HasSuffix(w, "/"), strings.HasPrefix(w, ":"):
		default:
			revs = append(revs, w)
		}
	}
	return revs
}

// gitNamed reports whether there are words after -- and all seem to be files, so
// that rules on paths cover all the output.
func gitNamed(rest []string) bool {
	at := slices.Index(rest, "--")
	if at < 0 || at+1 == len(rest) || flagged(rest, "--full-diff --follow") {
		return false
	}
	return !slices.ContainsFunc(rest[at+1:], func(w string) bool { return !plainFile(w) })
}

// gitReads lists subcommands whose operands may be files of the repository.
const gitReads = "show log diff whatchanged cat-file grep archive checkout restore blame annotate add stage rm mv reset stash difftool diff-tree diff-index diff-files checkout-index hash-object update-index commit apply format-patch merge-file range-diff rev-list rev-parse ls-tree config fast-export bundle unpack-file interpret-trailers mergetool cherry-pick reflog notes tag merge"

// gitValues lists flags whose value is not a file.
const gitValues = "-o --output -m --message --author --date --format --pretty --grep -G -S -n --since --until --after --before --reuse-message --trailer -b -B --orphan --branch --prefix --remote --max-count"

// touchedByGitVerb records the files that the words after a subcommand name, as
// paths and as REV:PATH, which is relative to the top of the repository.
func (w *walker) touchedByGitVerb(args []arg, c context) {
	i := 0
	for ; i < len(args) && strings.HasPrefix(args[i].lead, "-"); i++ {
		if !has(globals["git"].vals, args[i].val) || i+1 >= len(args) {
			continue
		}
		if i++; args[i-1].val == "-C" && args[i].lit && args[i].val != "" {
			c.dirs = c.dirs.cd(args[i].val)
		}
	}
	if i >= len(args) || !args[i].lit || !has(gitReads, args[i].val) {
		return
	}
	for j := i + 1; j < len(args); j++ {
		text := args[j].val
		if !args[j].lit || text == "" || strings.Contains(text, "\n") || strings.Contains(text, "://") {
			continue
		}
		if text[0] == '-' {
			name, value, eq := strings.Cut(text, "=")
			_, file, isL := strings.Cut(strings.TrimPrefix(text, "-L"), ":")
			switch {
			case strings.HasPrefix(text, "-L") && isL:
				w.readInGit(file, c)
				continue
			case !eq || has(gitValues, name):
				continue
			}
			text = value
		} else if has(gitValues, args[j-1].val) {
			continue
		}
		if _, name, ok := strings.Cut(text, ":"); ok {
			if text[0] == ':' {
				name = strings.TrimLeft(name, "0123456789:/!^")
				if magic, rest, ok := strings.Cut(name, ")"); ok && magic[0] == '(' {
					name = rest
				}
			}
			w.readInGit(name, c)
			continue
		}
		if !strings.Contains(text, " ") {
			v := literal(text)
			w.read(c.dirs.paths(&v, false))
		}
	}
}

// readInGit records a path of a repository. The path is relative to the working
// folder or to a folder above it within the root.
func (w *walker) readInGit(name string, c context) {
	name = strings.TrimLeft(name, "/")
	if name == "" {
		return
	}
	v := literal(name)
	from := dirs{list: slices.Clone(c.dirs.list), unknown: c.dirs.unknown}
	for _, dir := range c.dirs.list {
		for up := path.Dir(dir); up != dir && (dirs{list: []string{up}}).within(w.o); dir, up = up, path.Dir(up) {
			if !slices.Contains(from.list, up) {
				from.list = append(from.list, up)
			}
		}
	}
	w.read(from.paths(&v, false))
}
