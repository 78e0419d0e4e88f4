package shellsafe

import (
	"slices"
	"strings"
)

// destroyer is a command that may destroy what cannot be had back: files that no
// version control has, what others see, what runs.
type destroyer struct {
	sub   string // the words behind the name that are no flags, as a beginning; "" for any
	flags string // one of these has to be there; "" for none
	not   string // with one of these it is harmless
	args  func(words []string) bool
	why   string
}

// destroyers are data, by name of the command. Flags are as they are written; a
// short one may stand in a cluster, a long one may be shortened.
var destroyers = map[string][]destroyer{
	"rm": {
		{flags: "-r -R --recursive", why: "it removes folders with all that is in them"},
		{flags: "-f --force", why: "it removes without asking, also what may not be written"},
		{args: dynamic, why: "what it removes, and how, is only known when it runs"},
	},
	"shred":    {{why: "it overwrites files"}},
	"dd":       {{why: "it writes over files and devices"}},
	"truncate": {{why: "it cuts files off"}},
	"wipefs":   {{why: "it removes file systems"}},
	"mkfs":     {{why: "it makes a file system over what was there"}},
	"mke2fs":   {{why: "it makes a file system over what was there"}},
	"mkswap":   {{why: "it writes over a device"}},
	"fdisk":    {{not: "-l --list", why: "it changes partitions"}},
	"sfdisk":   {{not: "-l --list -d --dump", why: "it changes partitions"}},
	"parted":   {{not: "-l --list", why: "it changes partitions"}},
	"find":     {{flags: "-delete", why: "it removes what it finds"}},
	"rsync":    {{flags: "--delete --del --delete-before --delete-after --delete-during --delete-excluded --remove-source-files", why: "it removes what the source does not have"}},
	"chmod":    {{flags: "-R --recursive", why: "it changes the rights of a whole tree, and the old ones are kept nowhere"}},
	"chown":    {{flags: "-R --recursive", why: "it changes the owner of a whole tree, and the old one is kept nowhere"}},
	"chgrp":    {{flags: "-R --recursive", why: "it changes the group of a whole tree, and the old one is kept nowhere"}},
	"kill":     {{not: "-l -L --list --table", args: signals, why: "it ends processes of others"}},
	"pkill":    {{why: "it ends processes of others"}},
	"killall":  {{not: "-l --list", why: "it ends processes of others"}},
	"shutdown": {{why: "it ends all that runs"}},
	"reboot":   {{why: "it ends all that runs"}},
	"poweroff": {{why: "it ends all that runs"}},
	"halt":     {{why: "it ends all that runs"}},
	"crontab":  {{flags: "-r", why: "it removes all timed jobs"}},
	"git": {
		{sub: "push", flags: "-f --force --force-with-lease --force-if-includes --mirror --prune -d --delete", why: "it replaces or removes what others have"},
		{sub: "push", args: refspecs, why: "it replaces or removes what others have"},
		{sub: "reset", flags: "--hard --merge", why: "changes that were not committed are lost"},
		{sub: "clean", not: "-n --dry-run", why: "files that git does not have are lost"},
		{sub: "checkout", flags: "-f --force -p --patch --ours --theirs --pathspec-from-file", why: "changes that were not committed are lost"},
		{sub: "checkout", args: paths, why: "changes of these files that were not committed are lost"},
		{sub: "restore", not: "-S --staged", why: "changes of these files that were not committed are lost"},
		{sub: "restore", flags: "-W --worktree", why: "changes of these files that were not committed are lost"},
		{sub: "switch", flags: "-f --force --discard-changes", why: "changes that were not committed are lost"},
		{sub: "branch", flags: "-D", why: "commits that no other branch has are lost"},
		{sub: "branch", flags: "-f --force", why: "commits that no other branch has are lost"},
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
	},
	"npm":        {{sub: "publish", not: "--dry-run", why: "it publishes a package"}, {sub: "unpublish", why: "it takes a package away from others"}, {sub: "deprecate", why: "it changes a package that others see"}},
	"pnpm":       {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"yarn":       {{sub: "publish", why: "it publishes a package"}, {sub: "npm publish", why: "it publishes a package"}},
	"bun":        {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"cargo":      {{sub: "publish", not: "-n --dry-run", why: "it publishes a package"}, {sub: "yank", why: "it takes a package away from others"}},
	"twine":      {{sub: "upload", why: "it publishes a package"}},
	"poetry":     {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"uv":         {{sub: "publish", not: "--dry-run", why: "it publishes a package"}},
	"hatch":      {{sub: "publish", why: "it publishes a package"}},
	"flit":       {{sub: "publish", why: "it publishes a package"}},
	"gem":        {{sub: "push", why: "it publishes a package"}, {sub: "yank", why: "it takes a package away from others"}},
	"mvn":        {{args: word("deploy"), why: "it publishes a package"}},
	"gradle":     {{args: word("publish"), why: "it publishes a package"}},
	"dotnet":     {{sub: "nuget push", why: "it publishes a package"}},
	"nuget":      {{sub: "push", why: "it publishes a package"}},
	"mix":        {{sub: "hex.publish", why: "it publishes a package"}},
	"docker":     {{sub: "push", why: "it publishes an image"}, {sub: "system prune", why: "it removes images, containers and volumes"}, {sub: "volume rm", why: "it removes data"}, {sub: "volume prune", why: "it removes data"}},
	"podman":     {{sub: "push", why: "it publishes an image"}, {sub: "system prune", why: "it removes images, containers and volumes"}, {sub: "volume rm", why: "it removes data"}, {sub: "volume prune", why: "it removes data"}},
	"gh":         {{sub: "release create", why: "it publishes a release"}, {sub: "release delete", why: "it takes a release away from others"}, {sub: "repo delete", why: "it removes a repository"}},
	"terraform":  {{sub: "destroy", why: "it takes down what runs"}, {sub: "apply", why: "it changes what runs"}},
	"tofu":       {{sub: "destroy", why: "it takes down what runs"}, {sub: "apply", why: "it changes what runs"}},
	"kubectl":    {{sub: "delete", why: "it takes down what runs"}, {sub: "drain", why: "it takes down what runs"}},
	"helm":       {{sub: "uninstall", why: "it takes down what runs"}, {sub: "delete", why: "it takes down what runs"}},
	"dropdb":     {{why: "it removes a database"}},
	"lvremove":   {{why: "it removes a volume"}},
	"cryptsetup": {{why: "it changes encrypted volumes"}},
}

// printers show variables of the environment, which may be secrets.
var printers = map[string]func(args []string) bool{
	"printenv": func([]string) bool { return true },
	"env":      func(args []string) bool { return len(args) == 0 },
	"export":   func(args []string) bool { return len(args) == 0 || slices.Contains(args, "-p") },
	"declare": func(args []string) bool {
		return len(args) == 0 || slices.Contains(args, "-p") || slices.Contains(args, "-x")
	},
	"typeset": func(args []string) bool {
		return len(args) == 0 || slices.Contains(args, "-p") || slices.Contains(args, "-x")
	},
	"set":     func(args []string) bool { return len(args) == 0 },
	"compgen": func(args []string) bool { return slices.Contains(args, "-v") || slices.Contains(args, "-e") },
	"ps":      showsEnvironment,
}

// Destructive is why what the command does may not be undone, as a clause; "" if
// nothing is known of that.
func (c *Command) Destructive() string {
	name := c.Name
	if strings.HasPrefix(name, "mkfs.") {
		name = "mkfs"
	}
	list, known := destroyers[name]
	if !known || len(c.Words) == 0 {
		return ""
	}
	words := c.Words[1:]
	if name == "git" {
		words = behindGlobals(words)
	}
	for i := range list {
		if list[i].is(words) {
			return list[i].why
		}
	}
	return ""
}

// PrintsEnvironment reports whether the command shows variables of the
// environment.
func (c *Command) PrintsEnvironment() bool {
	f := printers[c.Name]
	return f != nil && len(c.Words) > 0 && f(c.Words[1:])
}

func (d *destroyer) is(words []string) bool {
	if d.sub != "" {
		plain := operands(words)
		sub := strings.Fields(d.sub)
		if len(plain) < len(sub) || !slices.Equal(plain[:len(sub)], sub) {
			return false
		}
	}
	return (d.flags == "" || flagged(words, d.flags)) && !(d.not != "" && flagged(words, d.not)) && (d.args == nil || d.args(words))
}

// operands are the words that are no flags.
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

// flagged reports whether one of the flags is among the words in front of --.
func flagged(words []string, flags string) bool {
	for _, w := range words {
		if w == "--" {
			return false
		}
		if len(w) < 2 || w[0] != '-' {
			continue
		}
		name, _, _ := strings.Cut(w, "=")
		for _, f := range strings.Fields(flags) {
			switch {
			case name == f:
				return true
			case strings.HasPrefix(f, "--"):
				if len(name) > 4 && strings.HasPrefix(f, name) {
					return true // git and getopt take a beginning
				}
			case len(f) == 2 && w[1] != '-' && strings.Contains(w[1:], f[1:]):
				return true
			}
		}
	}
	return false
}

// behindGlobals skips what git takes ahead of its command.
func behindGlobals(words []string) []string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		switch words[0] {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix":
			words = words[min(2, len(words)):]
		default:
			words = words[1:]
		}
	}
	return words
}

// dynamic reports whether a word, which may be a flag, is not known.
func dynamic(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "$") || strings.HasPrefix(w, "`") || strings.HasPrefix(w, "*")
	})
}

// signals reports whether a kill does more than ask whether a process is there.
func signals(words []string) bool {
	return !slices.Contains(words, "-0") && len(operands(words)) > 0
}

// refspecs reports whether a push forces or removes a name.
func refspecs(words []string) bool {
	plain := operands(words)
	return slices.ContainsFunc(plain[min(1, len(plain)):], func(w string) bool { return w[:min(1, len(w))] == "+" || w[:min(1, len(w))] == ":" })
}

// paths reports whether a checkout names files rather than a branch.
func paths(words []string) bool {
	if slices.Contains(words, "--") {
		return true
	}
	plain := operands(words)[1:]
	if flagged(words, "-b -B --orphan -t --track --detach") {
		return false
	}
	if len(plain) > 1 {
		return true
	}
	return len(plain) == 1 && (plain[0] == "." || strings.HasPrefix(plain[0], "./") || strings.HasPrefix(plain[0], "../") ||
		strings.HasSuffix(plain[0], "/") || strings.ContainsAny(plain[0], "*?[") || strings.HasPrefix(plain[0], ":") || hasExtension(plain[0]))
}

// hasExtension reports whether a name ends in a dot and letters, as files do
// and branches hardly.
func hasExtension(name string) bool {
	i := strings.LastIndexByte(name, '.')
	return i > 0 && i+1 < len(name) && strings.Trim(name[i+1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// word is a test for a word, also as the end of one, such as :lib:publish.
func word(want string) func([]string) bool {
	return func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return w == want || strings.HasSuffix(w, ":"+want) })
	}
}

// showsEnvironment is about ps, whose flag e without a hyphen shows it.
func showsEnvironment(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return !strings.HasPrefix(a, "-") && strings.Contains(a, "e") && strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	})
}
