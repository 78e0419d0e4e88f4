package shellsafe

import (
	"slices"
	"strings"
)

// destructiveCommand describes a command that may destroy something irrecoverable: files
// outside of version control, things that others see, running programs.
type destructiveCommand struct {
	sub          string // the first words after the name that are not flags; "": any
	least        int    // minimum length of an abbreviation of sub; 0: no abbreviation
	flags        string // one of these must be present; "": none is needed
	not          string // the command is harmless with one of these as a separate word
	args         func(words []string) bool
	unknownWords bool // it must have words that are known only at run time
	why          string
}

// destructiveCommands lists destructive commands by name. Flags are as written; a short flag
// may be part of a cluster, and a long one may be abbreviated.
var destructiveCommands = map[string][]destructiveCommand{
	"rm": {
		{flags: "-r -R --recursive", why: "it deletes folders recursively"},
		{args: dynamic, why: "what it removes, and how, is only known when it runs"},
		{unknownWords: true, why: "what it removes is only known when it runs"},
	},
	"shred":      {{why: "it overwrites files"}},
	"dd":         {{why: "it writes over files and devices"}},
	"truncate":   {{why: "it cuts files off"}},
	"wipefs":     {{why: "it removes file systems"}},
	"blkdiscard": {{why: "it empties a device"}},
	"mkfs":       {{why: "it makes a file system over what was there"}},
	"mke2fs":     {{why: "it makes a file system over what was there"}},
	"mkdosfs":    {{why: "it makes a file system over what was there"}},
	"mkswap":     {{why: "it writes over a device"}},
	"fdisk":      {{not: "-l --list", why: "it changes partitions"}},
	"sfdisk":     {{not: "-l --list -d --dump", why: "it changes partitions"}},
	"sgdisk":     {{not: "-p --print", why: "it changes partitions"}},
	"parted":     {{not: "-l --list", why: "it changes partitions"}},
	"find": {{args: func(words []string) bool {
		return slices.Contains(findWords(words), "-delete") || dynamic(words) && flagged(words, "-delete")
	}, why: "it removes what it finds"}},
	"rsync":     {{flags: "--delete --del --delete-before --delete-after --delete-during --delete-excluded --delete-missing-args --remove-source-files", why: "it removes what the source does not have"}},
	"chmod":     {{flags: "-R --recursive", why: "it changes the rights of a whole tree, and the old ones are kept nowhere"}},
	"chown":     {{flags: "-R --recursive", why: "it changes the owner of a whole tree, and the old one is kept nowhere"}},
	"chgrp":     {{flags: "-R --recursive", why: "it changes the group of a whole tree, and the old one is kept nowhere"}},
	"kill":      {{args: signals, why: "it ends other processes"}},
	"skill":     {{why: "it ends other processes"}},
	"fuser":     {{flags: "-k --kill", why: "it ends other processes"}},
	"pkill":     {{why: "it ends other processes"}},
	"killall":   {{args: func(words []string) bool { return len(operands(words)) > 0 }, why: "it ends other processes"}},
	"shutdown":  {{why: "it ends all that runs"}},
	"reboot":    {{why: "it ends all that runs"}},
	"poweroff":  {{why: "it ends all that runs"}},
	"halt":      {{why: "it ends all that runs"}},
	"systemctl": {{sub: "stop", why: "it takes down what runs"}, {sub: "kill", why: "it takes down what runs"}, {sub: "poweroff", why: "it ends all that runs"}, {sub: "reboot", why: "it ends all that runs"}},
	"userdel":   {{why: "it removes a user"}},
	"tar":       {{flags: "--remove-files", why: "it removes what it packs"}},
	"crontab":   {{flags: "-r", why: "it removes all timed jobs"}},
	"git": {
		{sub: "push", flags: "-f --force --force-with-lease --force-if-includes --mirror --prune -d --delete", why: "it overwrites or deletes branches of the remote"},
		{sub: "push", args: refspecs, why: "it overwrites or deletes branches of the remote"},
		{sub: "reset", flags: "--hard --merge", why: "changes that were not committed are lost"},
		{sub: "clean", flags: "--no-dry-run", why: "files that git does not have are lost"},
		{sub: "clean", args: cleans, why: "files that git does not have are lost"},
		{sub: "checkout", flags: "-f --force -p --patch --ours --theirs --pathspec-from-file", why: "changes that were not committed are lost"},
		{sub: "checkout", flags: "-B", why: "commits that no other branch has are lost"},
		{sub: "checkout", args: paths, why: "changes of these files that were not committed are lost"},
		{sub: "restore", not: "-S --staged", why: "changes of these files that were not committed are lost"},
		{sub: "restore", flags: "-W --worktree", why: "changes of these files that were not committed are lost"},
		{sub: "switch", flags: "-f --force --discard-changes", why: "changes that were not committed are lost"},
		{sub: "switch", flags: "-C --force-create", why: "commits that no other branch has are lost"},
		{sub: "branch", flags: "-D -M -C", why: "commits that no other branch has are lost"},
		{sub: "branch", flags: "-f --force", why: "commits that no other branch has are lost"},
		{sub: "tag", flags: "-d --delete -f --force", why: "commits that no other name has are lost"},
		{sub: "rm", flags: "-f --force", why: "changes that were not committed are lost"},
		{sub: "checkout-index", flags: "-f --force", why: "changes that were not committed are lost"},
		{sub: "read-tree", flags: "--reset", why: "changes that were not committed are lost"},
		{sub: "submodule deinit", flags: "-f --force", why: "changes that were not committed are lost"},
		{sub: "stash drop", why: "what was put aside is lost"},
		{sub: "stash clear", why: "what was put aside is lost"},
		{sub: "worktree remove", flags: "-f --force", why: "changes that were not committed are lost"},
		{sub: "update-ref", flags: "-d --stdin", why: "commits that no other name has are lost"},
		{sub: "reflog expire", why: "commits that only the log has are lost"},
		{sub: "reflog delete", why: "commits that only the log has are lost"},
		{sub: "gc", flags: "--prune", why: "commits that no name has are lost"},
		{sub: "prune", not: "-n --dry-run", why: "commits that no name has are lost"},
		{sub: "filter-branch", why: "it rewrites the history"},
		{sub: "filter-repo", why: "it rewrites the history"},
		{args: dynamicVerb, why: "what it does is only known when it runs"},
	},
	"npm":        {{sub: "publish", least: 2, not: "--dry-run", why: "it publishes a package"}, {sub: "unpublish", least: 3, why: "it takes a package away from others"}, {sub: "deprecate", least: 3, why: "it changes a package that others see"}, {sub: "dist-tag", why: "it changes a package that others see"}},
	"pnpm":       {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"yarn":       {{sub: "publish", why: "it publishes a package"}, {sub: "npm publish", why: "it publishes a package"}, {sub: "workspace", args: word("publish"), why: "it publishes a package"}, {sub: "workspaces", args: word("publish"), why: "it publishes packages"}},
	"lerna":      {{sub: "publish", why: "it publishes packages"}},
	"changeset":  {{sub: "publish", why: "it publishes packages"}},
	"deno":       {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"jsr":        {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"vsce":       {{sub: "publish", why: "it publishes a package"}},
	"goreleaser": {{sub: "release", not: "--snapshot", why: "it publishes a release"}},
	"maturin":    {{sub: "publish", why: "it publishes a package"}, {sub: "upload", why: "it publishes a package"}},
	"pdm":        {{sub: "publish", why: "it publishes a package"}},
	"dart":       {{sub: "pub publish", not: "--dry-run -n", why: "it publishes a package"}},
	"flutter":    {{sub: "pub publish", not: "--dry-run -n", why: "it publishes a package"}},
	"pod":        {{sub: "trunk push", why: "it publishes a package"}},
	"python":     {{args: uploads, why: "it publishes a package"}},
	"python3":    {{args: uploads, why: "it publishes a package"}},
	"bun":        {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"cargo":      {{sub: "publish", not: "-n --dry-run", why: "it publishes a package"}, {sub: "yank", why: "it takes a package away from others"}},
	"twine":      {{sub: "upload", why: "it publishes a package"}},
	"poetry":     {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"uv":         {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"hatch":      {{sub: "publish", why: "it publishes a package"}},
	"flit":       {{sub: "publish", why: "it publishes a package"}},
	"gem":        {{sub: "push", why: "it publishes a package"}, {sub: "yank", why: "it takes a package away from others"}},
	"mvn":        {{args: word("deploy"), why: "it publishes a package"}},
	"mvnw":       {{args: word("deploy"), why: "it publishes a package"}},
	"gradle":     {{args: word("publish"), why: "it publishes a package"}},
	"gradlew":    {{args: word("publish"), why: "it publishes a package"}},
	"sbt":        {{args: word("publish"), why: "it publishes a package"}},
	"dotnet":     {{sub: "nuget push", why: "it publishes a package"}},
	"nuget":      {{sub: "push", why: "it publishes a package"}},
	"mix":        {{sub: "hex.publish", why: "it publishes a package"}},
	"docker":     {{sub: "image push", why: "it publishes an image"}, {sub: "container prune", why: "it removes containers"}, {sub: "image prune", why: "it removes images"}, {sub: "compose down", flags: "-v --volumes", why: "it removes data"}, {sub: "rm", flags: "-f --force", why: "it takes down what runs"}, {sub: "kill", why: "it takes down what runs"}, {sub: "push", why: "it publishes an image"}, {sub: "system prune", why: "it removes images, containers and volumes"}, {sub: "volume rm", why: "it removes data"}, {sub: "volume prune", why: "it removes data"}},
	"podman":     {{sub: "image push", why: "it publishes an image"}, {sub: "container prune", why: "it removes containers"}, {sub: "image prune", why: "it removes images"}, {sub: "compose down", flags: "-v --volumes", why: "it removes data"}, {sub: "rm", flags: "-f --force", why: "it takes down what runs"}, {sub: "kill", why: "it takes down what runs"}, {sub: "push", why: "it publishes an image"}, {sub: "system prune", why: "it removes images, containers and volumes"}, {sub: "volume rm", why: "it removes data"}, {sub: "volume prune", why: "it removes data"}},
	"gh":         {{sub: "release create", why: "it publishes a release"}, {sub: "release delete", why: "it takes a release away from others"}, {sub: "repo delete", why: "it removes a repository"}},
	"terraform":  {{sub: "destroy", why: "it takes down what runs"}, {sub: "apply", why: "it changes what runs"}},
	"tofu":       {{sub: "destroy", why: "it takes down what runs"}, {sub: "apply", why: "it changes what runs"}},
	"kubectl":    {{sub: "delete", why: "it takes down what runs"}, {sub: "drain", why: "it takes down what runs"}},
	"helm":       {{sub: "uninstall", why: "it takes down what runs"}, {sub: "delete", why: "it takes down what runs"}},
	"aws":        {{sub: "s3 rm", why: "it removes data"}, {sub: "s3 rb", why: "it removes data"}, {sub: "s3 sync", flags: "--delete", why: "it removes data"}},
	"dropdb":     {{why: "it removes a database"}},
	"lvremove":   {{why: "it removes a volume"}},
	"cryptsetup": {{why: "it changes encrypted volumes"}},
}

// Destructive returns the reason why the effects of the command may be
// irreversible, as a clause. It returns "" if none is known.
func (c *Command) Destructive() string {
	name := c.Name
	if strings.HasPrefix(name, "mkfs.") {
		name = "mkfs"
	}
	list, known := destructiveCommands[name]
	if !known || len(c.Words) == 0 {
		return ""
	}
	words := c.Words[1:]
	if name == "git" {
		words = afterGlobals(words)
	}
	for i := range list {
		if list[i].is(words, c.Inner && c.KnownPrefix != "") {
			return list[i].why
		}
	}
	return ""
}

// destroyFiles lists the commands whose known destructive effects are all on files, in their
// content, mode or existence.
var destroyFiles = map[string]bool{"rm": true, "shred": true, "truncate": true, "find": true, "tar": true, "chmod": true, "git": true}

// DestroysFiles reports whether the effects of a destructive command are all on files that it may
// write, on this machine.
func (c *Command) DestroysFiles() bool {
	if !destroyFiles[c.Name] || len(c.Words) == 0 || c.Inner && c.KnownPrefix != "" {
		return false
	}
	if c.Name != "git" {
		return true
	}
	words := operands(afterGlobals(c.Words[1:]))
	return len(words) > 0 && words[0] != "push" && words[0] != "submodule" && words[0] != "worktree" && !dynamicVerb(words)
}

func (d *destructiveCommand) is(words []string, fed bool) bool {
	return d.verb(words) && (d.flags == "" || flagged(words, d.flags)) && !(d.not != "" && hasHarmlessFlag(words, d.not)) &&
		(d.args == nil || d.args(words)) && (fed || !d.unknownWords)
}

// verb reports whether the words begin with those of sub. Flags may come before
// them, and words that may be values of flags.
func (d *destructiveCommand) verb(words []string) bool {
	if d.sub == "" {
		return true
	}
	sub := strings.Fields(d.sub)
	for i, w := range words {
		if strings.HasPrefix(w, "-") {
			continue
		}
		plain := operands(words[i:])
		if len(plain) >= len(sub) && d.abbreviates(plain[0], sub[0]) && slices.Equal(plain[1:len(sub)], sub[1:]) {
			return true
		}
		ahead := ""
		if i > 0 {
			ahead = words[i-1]
		}
		if w[:min(1, len(w))] != "+" && (ahead == "" || ahead[0] != '-' || strings.Contains(ahead, "=")) {
			return false // another verb
		}
	}
	return false
}

func (d *destructiveCommand) abbreviates(w, verb string) bool {
	return w == verb || d.least > 0 && len(w) >= d.least && strings.HasPrefix(verb, w)
}

// operands returns the words that are not flags.
func operands(words []string) (out []string) {
	for i, w := range words {
		if w == "--" {
			return append(out, words[i+1:]...)
		}
		if !strings.HasPrefix(w, "-") {
			out = append(out, w)
		}
	}
	return out
}

// flagged reports whether one of the flags is among the words before --. A word
// with flags that are known only at run time counts as all of them.
func flagged(words []string, flags string) bool {
	for _, w := range words {
		if w == "--" {
			return false
		}
		if len(w) < 2 || w[0] != '-' {
			continue
		}
		name, _, _ := strings.Cut(w, "=")
		for f := range strings.FieldsSeq(flags) {
			switch {
			case name == f:
				return true
			case strings.HasPrefix(f, "--"):
				if len(name) > 2 && strings.HasPrefix(f, name) {
					return true // git and getopt accept abbreviations
				}
			case len(f) == 2 && w[1] != '-' && strings.ContainsAny(w[1:], f[1:]+"$`"):
				return true
			}
		}
	}
	return false
}

// hasHarmlessFlag reports whether one of the flags is a separate word that cannot be the
// value of another flag.
func hasHarmlessFlag(words []string, flags string) bool {
	for i, w := range words {
		if w == "--" {
			return false
		}
		if has(flags, w) && (i == 0 || !strings.HasPrefix(words[i-1], "-") || len(w) > 2 && w[1] == '-') {
			return true
		}
	}
	return false
}

// afterGlobals returns the words after git's global flags.
func afterGlobals(words []string) []string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		switch words[0] {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source":
			words = words[min(2, len(words)):]
		default:
			words = words[1:]
		}
	}
	return words
}

// unknown holds the characters with which a word may begin that is known only at
// run time and may become a flag.
const unknown = "$`*?[{"

// dynamic reports whether a word is unknown that may be a flag.
func dynamic(words []string) bool {
	for _, w := range words {
		if w == "--" {
			return false
		}
		if w != "" && strings.IndexByte(unknown, w[0]) >= 0 || len(w) > 1 && w[0] == '-' && strings.ContainsAny(w, unknown) {
			return true
		}
	}
	return false
}

// dynamicVerb reports whether git's subcommand is unknown.
func dynamicVerb(words []string) bool {
	return len(words) > 0 && words[0] != "" && strings.IndexByte("$`{", words[0][0]) >= 0
}

// signals reports whether kill ends a process other than a job of the shell.
func signals(words []string) bool {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case i == 0 && (w == "-l" || w == "-L" || w == "--list" || w == "--table"):
			return false
		case i == 0 && w == "-0":
			return anotherSignal(words[1:])
		case i == 0 && (w == "-s" || w == "-n" || w == "--signal"):
			if i++; i < len(words) && words[i] == "0" {
				return anotherSignal(words[i+1:])
			}
		case w == "--", i == 0 && strings.HasPrefix(w, "-"):
		case strings.HasPrefix(w, "%"), w == "$!", w == "$$", w == "$BASHPID": // jobs of the shell, and the shell itself
		default:
			return true
		}
	}
	return false
}

// anotherSignal reports whether the words after the signal of kill may name another
// signal, which replaces the first.
func anotherSignal(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") && w != "--" })
}

// cleans reports whether git clean removes files. With -n, alone or in a cluster of
// letters without values, it only lists them.
func cleans(words []string) bool {
	for i, w := range words {
		switch {
		case i > 0 && (words[i-1] == "-e" || strings.HasPrefix(words[i-1], "--exc")), w == "--":
			return true
		case w == "--dry-run", len(w) > 1 && w[0] == '-' && strings.Contains(w, "n") && strings.Trim(w[1:], "dfnqxX") == "":
			return false
		case len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "e"):
			return true // the rest is the value of -e
		}
	}
	return true
}

// refspecs reports whether git push overwrites or removes a ref.
func refspecs(words []string) bool {
	plain := operands(words)
	return slices.ContainsFunc(plain[min(1, len(plain)):], func(w string) bool { return w[:min(1, len(w))] == "+" || w[:min(1, len(w))] == ":" })
}

// paths reports whether git checkout names files rather than a branch.
func paths(words []string) bool {
	if slices.Contains(words, "--") {
		return true
	}
	plain := operands(words)[1:]
	if flagged(words, "-b -B --orphan -t --track --detach") {
		return false
	}
	if len(plain) != 1 {
		return len(plain) > 1
	}
	w := plain[0]
	return w == "." || w == ".." || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "../") || strings.HasPrefix(w, "/") ||
		strings.HasSuffix(w, "/") || strings.ContainsAny(w, "*?[") || strings.HasPrefix(w, ":") || hasExtension(w) || has(plainFiles, w)
}

// plainFiles lists common names of files without an extension.
const plainFiles = "Makefile Dockerfile LICENSE README CHANGELOG Gemfile Rakefile Jenkinsfile Vagrantfile Procfile"

// hasExtension reports whether a name ends in a dot and letters, which is usual for
// files and rare for branches.
func hasExtension(name string) bool {
	i := strings.LastIndexByte(name, '.')
	return i >= 0 && i+1 < len(name) && strings.Trim(name[i+1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// word returns a test for a word, which may also be the end of a word, as in
// :lib:publish.
func word(want string) func([]string) bool {
	return func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return w == want || strings.HasSuffix(w, ":"+want) })
	}
}

// uploads reports whether the words are those of python -m twine upload or setup.py
// upload.
func uploads(words []string) bool {
	return slices.Contains(words, "upload") && (slices.Contains(words, "twine") || slices.Contains(words, "setup.py"))
}
