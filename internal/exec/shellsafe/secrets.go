package shellsafe

import (
	"path"
	"slices"
	"strings"
)

// The functions of this file find commands that show possible secrets.

// printers maps commands to functions that report whether they show variables of
// the environment, which may be secrets.
var printers = map[string]func(args []string) bool{
	"printenv": func([]string) bool { return true },
	"env":      envPrints,
	"jq": func(args []string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return usesENV(a) || namesEnv(a) })
	},
	"awk": namesEnviron, "gawk": namesEnviron, "mawk": namesEnviron,
	"export":   declarePrints,
	"readonly": declarePrints,
	"declare":  declarePrints,
	"typeset":  declarePrints,
	"local":    declarePrints,
	"set":      func(args []string) bool { return len(args) == 0 },
	"compgen": func(args []string) bool {
		return flagged(args, "-v -e") || slices.Contains(args, "variable") || slices.Contains(args, "export")
	},
}

// PrintsEnvironment reports whether the command shows variables of its own
// environment: all of them, or one whose name suggests a secret.
func (c *Command) PrintsEnvironment() bool {
	if f := printers[c.Name]; f != nil && len(c.Words) > 0 && f(c.Words[1:]) {
		return true
	}
	return slices.ContainsFunc(c.Words, namesSecret)
}

// ShowsOthersEnvironment reports whether the command shows the environment of other
// processes.
func (c *Command) ShowsOthersEnvironment() bool {
	return c.Name == "ps" && len(c.Words) > 0 && showsEnvironment(c.Words[1:])
}

// secretWords lists parts of names of variables that hold secrets.
const secretWords = "KEY TOKEN SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL CREDENTIALS"

// namesSecret reports whether a word contains a variable whose name suggests a
// secret.
func namesSecret(w string) bool {
	for {
		_, rest, ok := strings.Cut(w, "$")
		if !ok {
			return false
		}
		w = rest
		rest = strings.TrimLeft(rest, "{!#")
		name := strings.ToUpper(rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))])
		for part := range strings.SplitSeq(name, "_") {
			if has(secretWords, part) {
				return true
			}
		}
	}
}

// credentials lists the ends of paths of files that hold secrets, wherever they
// are.
var credentials = []string{".git-credentials", ".netrc", "_netrc", ".pgpass", ".git/config", ".docker/config.json", ".aws/credentials", ".ssh/*"}

// namers lists commands that show names and attributes of files, but not their
// content.
const namers = "ls dir vdir stat du readlink realpath basename dirname test [ [[ tree find fd fdfind file lsattr namei mountpoint touch mkdir rm rmdir"

// ShowsCredentials reports whether the words or redirects of the command name a
// file to be read that may hold credentials. It ignores git, which reads its own.
func (c *Command) ShowsCredentials() bool {
	if c.Name == "git" || has(namers, c.Name) {
		return false
	}
	return slices.ContainsFunc(c.reads, func(p Path) bool {
		full := path.Join("/", p.Dir, p.Text)
		if path.IsAbs(p.Text) {
			full = path.Clean(p.Text)
		}
		return slices.ContainsFunc(credentials, func(end string) bool { return endsAs(full, end, p.Glob) })
	})
}

// endsAs reports whether a path, which may be a pattern, ends with a name.
func endsAs(full, end string, glob bool) bool {
	names := strings.Split(full, "/")
	tail := strings.Join(names[max(0, len(names)-strings.Count(end, "/")-1):], "/")
	if ok, _ := path.Match(end, tail); ok {
		return true
	}
	ok, _ := path.Match(tail, end)
	return glob && ok && tail[:min(1, len(tail))] == end[:1] // * does not match a leading dot
}

// OtherHome reports whether the command names the home folder of another user, as
// ~name.
func (c *Command) OtherHome() bool {
	other := func(s string) bool { return len(s) > 1 && s[0] == '~' && s[1] != '/' }
	return !c.Literal && slices.ContainsFunc(c.Words, other) ||
		slices.ContainsFunc(c.Redirects, func(p Path) bool { return p.Dynamic && other(p.Text) })
}

// envPrints reports whether env runs no command and therefore prints.
func envPrints(args []string) bool {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "--version") {
		return false
	}
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w == "-u" || w == "-C" || w == "--unset" || w == "--chdir":
			i++
		case strings.HasPrefix(w, "-S") || strings.HasPrefix(w, "--split") || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "S"):
			return false // a text with a command
		case strings.HasPrefix(w, "-") || strings.Contains(w, "="):
		default:
			return false
		}
	}
	return true
}

// declarePrints reports whether declare or export shows values: with -p, or without
// a name.
func declarePrints(args []string) bool {
	return flagged(args, "-p") || len(operands(args)) == 0 && !flagged(args, "-f -F")
}

// usesENV reports whether a jq program uses $ENV. Blanks or a comment may follow
// the dollar sign.
func usesENV(program string) bool {
	_, rest, ok := strings.Cut(program, "$")
	return ok && strings.Contains(rest, "ENV")
}

// namesEnv reports whether a jq program uses env.
func namesEnv(program string) bool {
	return slices.Contains(strings.FieldsFunc(program, func(r rune) bool { return !letter(byte(min(r, 127))) && r != '.' && r != '$' }), "env")
}

// namesEnviron reports whether an awk program uses ENVIRON.
func namesEnviron(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "ENVIRON") })
}

// showsEnvironment reports whether ps shows environments: because of the flag e
// without a hyphen, or because of one with a hyphen if ps reads its words again.
func showsEnvironment(args []string) bool {
	again, value := psReadsAgain(args), false
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		environment, takes := bsdLetters(strings.TrimPrefix(a, "-"))
		switch {
		case value:
			value = false
			continue
		case again && environment:
			return true
		case strings.HasPrefix(a, "--"), !again && before == "-C", has("--sort --format --pid --ppid", before):
			continue
		case !strings.HasPrefix(a, "-") && strings.Contains(a, "e") && strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && !hasUser(before):
			return true
		}
		value = takes
	}
	return false
}

// hasUser reports whether a word of ps takes the name of a user or a group from the
// next word.
func hasUser(word string) bool {
	return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.ContainsAny(word[len(word)-1:], "uUgG")
}

// psReadsAgain reports whether ps may find an error in its words. It then reads all
// of them as BSD letters, including those with a hyphen.
func psReadsAgain(args []string) bool {
	threads := ""
	for i, a := range args {
		if len(a) < 2 || a[0] != '-' || a[1] == '-' {
			continue
		}
		for j := 1; j < len(a); j++ {
			rest := a[j+1:]
			if rest == "" && i+1 < len(args) {
				rest = args[i+1]
			}
			switch {
			case strings.IndexByte("CoO", a[j]) >= 0:
				j = len(a)
			case strings.IndexByte("pq", a[j]) >= 0 && strings.Trim(rest, "0123456789, ") == "":
				j = len(a)
			case strings.IndexByte("AadefFcjlMNPVwyZ", a[j]) >= 0:
			case strings.IndexByte("HLTm", a[j]) >= 0:
				threads += a[j : j+1]
			default: // a name that no user may have, or an unknown flag
				return true
			}
		}
	}
	return strings.Contains(threads, "T") && strings.Trim(threads, "T") != ""
}

// bsdLetters parses a word of ps as BSD letters. environment reports whether it
// shows environments, and takes whether the next word is the value of the last
// letter.
func bsdLetters(word string) (environment, takes bool) {
	for i := range len(word) {
		switch {
		case word[i] == 'e':
			return true, false
		case strings.IndexByte("koOpqtU", word[i]) >= 0:
			return false, i == len(word)-1
		case strings.IndexByte("aAcfghHjlLmnNPrsSTuvVwWxXZ", word[i]) < 0:
			return false, false // an error again
		}
	}
	return false, false
}

// followers maps commands to the flags with which they follow links, which may lead
// out of the workspace.
var followers = map[string]string{
	"find": "-L -follow", "fd": "-L --follow", "fdfind": "-L --follow", "rg": "-L --follow", "tree": "-l", "du": "-L --dereference",
}

// Follows reports whether the command walks a folder and follows the links in it.
func (c *Command) Follows() bool {
	flags, ok := followers[c.Name]
	return ok && (flagged(c.Words[1:], flags) && c.Name != "find" || c.Name == "find" && slices.ContainsFunc(c.Words, func(w string) bool { return has(flags, w) }))
}
