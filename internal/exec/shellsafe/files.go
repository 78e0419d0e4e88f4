package shellsafe

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// fileCommand describes the files that a command's operands name.
type fileCommand struct {
	vals   string // flags that take the next word
	into   string // flags whose value is a written file
	from   string // flags whose value is a read file
	script string // if one of these flags is present, first is 0
	first  int    // number of leading operands that are not paths
	reads  string // operands that are read: "" none, "all", "but last"
	writes string // operands that are written: "" none, "all", "first", "last"
	only   string // applies only with this flag, whose value is attached
	below  bool   // files may be written in the last operand, under their names
}

// fileCommands is a table for rules on files, by name of the command.
var fileCommands = map[string]fileCommand{
	"rm": {writes: "all"}, "rmdir": {writes: "all"}, "unlink": {writes: "all"}, "shred": {writes: "all", vals: "-n -s"}, "touch": {writes: "all", vals: "-d -t -r --date --reference"}, "mkdir": {writes: "all", vals: "-m --mode"}, "mkfifo": {writes: "all", vals: "-m"}, "mknod": {writes: "all"}, "truncate": {writes: "all", vals: "-s -r --size"}, "tee": {writes: "all"}, "mktemp": {writes: "all", into: "-p --tmpdir"},
	"mv": {reads: "all", writes: "all", into: "-t --target-directory", vals: "-S --suffix", below: true}, "cp": {reads: "but last", writes: "last", into: "-t --target-directory", vals: "-S --suffix", below: true}, "ln": {reads: "but last", writes: "last", into: "-t --target-directory", vals: "-S --suffix", below: true}, "install": {reads: "but last", writes: "last", into: "-t --target-directory", vals: "-m -o -g -S --mode --owner --group --suffix", below: true}, "rsync": {reads: "but last", writes: "last", vals: "-e -f --rsh --exclude --include"}, "scp": {reads: "but last", writes: "last", vals: "-P -i -o -F -J"},
	"chmod": {writes: "all", first: 1}, "chown": {writes: "all", first: 1}, "chgrp": {writes: "all", first: 1}, "setfacl": {writes: "all", vals: "-m -x"}, "chattr": {writes: "all", first: 1},
	"sed": {writes: "all", first: 1, vals: "-e -l --expression --line-length", from: "-f --file", script: "-e -f --expression --file", only: "i"}, "perl": {writes: "all", first: 0, vals: "-e", only: "i"}, "sort": {into: "-o --output", vals: "-k -t -S -T"}, "dd": {}, "split": {reads: "all", vals: "-l -b -n -a -C"}, "patch": {writes: "all", vals: "-p -d -F -B -D -V -z -Y", from: "-i --input", into: "-o -r --output --reject-file"}, "gzip": {reads: "all", writes: "all"}, "gunzip": {reads: "all", writes: "all"}, "xz": {reads: "all", writes: "all"}, "bzip2": {reads: "all", writes: "all"}, "zstd": {reads: "all", writes: "all"}, "uniq": {reads: "but last", writes: "last"}, "xxd": {reads: "but last", writes: "last", vals: "-c -g -l -o -s"}, "gofmt": {writes: "all", only: "w"}, "goimports": {writes: "all", only: "w"}, "clang-format": {writes: "all", only: "i"},
	"curl": {into: "-o -c -D --output --output-dir --cookie-jar --dump-header --trace --trace-ascii --stderr", from: "-T -K --upload-file --config --cacert --cert --key", vals: "-H -d -X -u -A -b -e -F -x -m -w -r -y -Y -z -C -P -Q -t -U"}, "wget": {into: "-O -o -a -P --output-document --output-file --append-output --directory-prefix", from: "-i --input-file --post-file --body-file --load-cookies", vals: "-U -T -t -w -Q -e -l -A -R -D -I -X --header"}, "tar": {}, "zip": {reads: "all", writes: "first"}, "unzip": {reads: "all", into: "-d"},
	"awk": {first: 1, vals: "-F -v", from: "-f --file", script: "-f --file"}, "gawk": {first: 1, vals: "-F -v", from: "-f --file", script: "-f --file"}, "mawk": {first: 1, vals: "-F -v", from: "-f", script: "-f"}, "less": {reads: "all"}, "more": {reads: "all"}, "bat": {reads: "all", vals: "-l -r"}, "vim": {reads: "all", writes: "all", vals: "-c"}, "vi": {reads: "all", writes: "all", vals: "-c"}, "nano": {reads: "all", writes: "all"}, "emacs": {reads: "all", writes: "all"}, "code": {reads: "all", writes: "all"}, "ed": {reads: "all", writes: "all"},
	"source": {reads: "all"}, ".": {reads: "all"}, "bash": {reads: "all", vals: "-c -o -O"}, "sh": {reads: "all", vals: "-c -o"}, "python": {reads: "all", vals: "-c -m"}, "python3": {reads: "all", vals: "-c -m"}, "node": {reads: "all", vals: "-e -p"}, "perl5": {reads: "all"}, "ruby": {reads: "all", vals: "-e"}, "php": {reads: "all", vals: "-r"},
	"openssl": {reads: "all"}, "gpg": {reads: "all"}, "yq": {reads: "all", first: 1}, "xmllint": {reads: "all"}, "iconv": {reads: "all", vals: "-f -t", into: "-o --output"}, "csplit": {reads: "all"}, "sqlite3": {reads: "all", writes: "all"}, "nl": {}, "pandoc": {reads: "all", into: "-o --output"}, "ssh-keygen": {reads: "all", into: "-f"}, "make": {reads: "", vals: "-C -f"},
	"go": {into: "-o"}, "gcc": {into: "-o"}, "g++": {into: "-o"}, "cc": {into: "-o"}, "c++": {into: "-o"}, "clang": {into: "-o"}, "clang++": {into: "-o"}, "ld": {into: "-o"},
}

// touched records the files that a known command writes or reads. Read-only
// commands of the table are recorded by their judgement.
func (w *walker) touched(args []arg, c context) {
	args = canonical(args)
	name := base(args[0].val)
	switch name {
	case "dd":
		w.touchedByDD(args[1:], c)
		return
	case "git":
		w.touchedByGit(args[1:], c)
		return
	case "tar", "bsdtar", "gtar":
		w.touchedByTar(args[1:], c)
		return
	case "find":
		w.touchedByFind(args[1:], c)
		return
	case "awk", "gawk", "mawk":
		w.touchedByAwk(args[1:], c)
	case "sed":
		w.touchedBySed(args, c)
	}
	t, ok := fileCommands[name]
	if !ok {
		return
	}
	if name == "install" && flagged(values(args[1:]), "-d --directory") {
		t = fileCommand{writes: "all", vals: t.vals}
	}
	if name == "sqlite3" && queries(args) {
		t.writes = ""
	}
	o := t.split(w, args, c)
	fills := fillsFiles(name, values(args[1:]))
	if t.only != "" && !o.only {
		return
	}
	// The code is in a flag, so all operands are arguments to it.
	given := flagged(values(args[1:]), "-c -e -m -p -r")
	if len(o.into) > 0 && t.below { // all operands are sources
		for i := range o.into {
			w.below(&o.into[i], o.list, c)
		}
		for i := range o.list {
			w.read(c.dirs.paths(&o.list[i], false))
			if name == "mv" {
				w.write(c.dirs.paths(&o.list[i], true))
			}
		}
		return
	}
	for i := min(o.first, len(o.list)); i < len(o.list); i++ {
		last := i == len(o.list)-1
		if t.writes == "all" || t.writes == "last" && last && (i > 0 || !has("uniq xxd", name)) || t.writes == "first" && i == 0 {
			to := c.dirs.paths(&o.list[i], name == "rm" || name == "mv" && !last)
			if fills {
				to = content(to)
			}
			w.write(to)
		}
		if t.reads == "all" || t.reads == "but last" && (!last || i == 0) {
			from := c.dirs.paths(&o.list[i], false)
			for j := range from {
				from[j].Uncertain = has(guessed, name) && (i > 0 || given)
			}
			w.read(from)
		}
	}
	if n := len(o.list) - 1; t.below && n > 0 {
		w.below(&o.list[n], o.list[:n], c)
	}
}

// queries reports whether the texts for a database, after its name, only ask for its contents.
func queries(args []arg) bool {
	ops := slices.DeleteFunc(slices.Clone(args[1:]), func(a arg) bool { return strings.HasPrefix(a.text, "-") })
	return len(ops) > 1 && !slices.ContainsFunc(ops[1:], func(a arg) bool { return !question.MatchString(a.text) || statement.MatchString(a.text) })
}

var (
	question  = regexp.MustCompile(`(?i)^\s*(select|with|explain|values|pragma (table_x?info|table_list|index_list|index_x?info|foreign_key_list|database_list|integrity_check|quick_check)(\([^)]*\))?;?\s*$|\.(tables|schema|indexes|dbinfo|dump|databases|fullschema|count|headers?|mode)\b)`)
	statement = regexp.MustCompile(`(?i)\b(insert|update|delete|replace|create|drop|alter|attach|vacuum|reindex|writefile|load_extension)\b|\n\s*\.`)
)

// Programs that write only content, mode and times of the files they name, and
// never remove, replace or link the names. And flags of touchers whose value is a
// file to fill with output.
const (
	fillers     = "tee touch truncate cp chmod chown chgrp setfacl chattr uniq shred"
	outputFlags = "-o --output -O --output-document --output-file -a --append-output -c --cookie-jar -D --dump-header --trace --trace-ascii --stderr"
)

// guessed lists programs that run a script or have many forms, so that operands
// after the first may be read or written.
const guessed = "python python3 node perl5 ruby php bash sh openssl gpg zip split csplit"

// fillsFiles reports whether a command writes only the content of the files it
// names. For cp, the copies must certainly be single files.
func fillsFiles(name string, words []string) bool {
	if !has(fillers, name) {
		return false
	}
	switch name {
	case "cp":
		return !slices.ContainsFunc(words, func(v string) bool {
			return strings.HasPrefix(v, "-") && !has("-f -v -n -p -u -i --", v)
		})
	case "shred":
		return !flagged(words, "-u --remove")
	}
	return true
}

// below records the paths in a folder under the names of the sources put there: one
// may be a link, or a protected name.
func (w *walker) below(dir *arg, sources []arg, c context) {
	if !dir.lit {
		return
	}
	for i := range sources {
		s := &sources[i]
		name := path.Base(s.val)
		if !s.lit && !s.glob || name == "." || name == ".." || name == "/" {
			continue
		}
		a := literal(strings.TrimRight(dir.val, "/") + "/" + name)
		if s.glob {
			var r wordReader
			r.widen(strings.TrimRight(dir.val, "/") + "/")
			a.lit, a.glob, a.wide = false, true, r.wide.String()+path.Base(s.wide)
		}
		w.write(c.dirs.paths(&a, false))
	}
}

// split holds the words of a command without its flags.
type split struct {
	list  []arg
	into  []arg // values of fileCommand.into
	first int   // number of elements of list that are not paths
	only  bool  // whether fileCommand.only is present
}

// split parses the words as GNU programs do: short flags may be clustered, long
// ones abbreviated, both may come after operands.
func (t *fileCommand) split(w *walker, args []arg, c context) split {
	o := split{first: t.first}
	for i := 1; i < len(args); i++ {
		a := &args[i]
		if a.lit && a.val == "--" {
			o.list = append(o.list, args[i+1:]...)
			break
		}
		if !strings.HasPrefix(a.lead, "-") || a.val == "-" {
			o.list = append(o.list, *a)
			continue
		}
		o.only = o.only || t.only != "" && (strings.HasPrefix(a.val, "--in") || !strings.HasPrefix(a.val, "--") && strings.Contains(a.val, t.only))
		flag, value, next := t.flag(a.val)
		if has(t.script, flag) {
			o.first = 0
		}
		v := literal(value)
		if next {
			if i+1 >= len(args) {
				break
			}
			v = args[i+1]
			if !strings.HasPrefix(a.val, "--") || a.val == flag {
				i++
			} // else the flag was guessed, and the next word may be an operand
		}
		switch {
		case has(t.into, flag):
			o.into = append(o.into, v)
			to := c.dirs.paths(&v, false)
			if has(outputFlags, flag) {
				to = content(to)
			}
			w.write(to)
		case has(t.from, flag):
			w.read(c.dirs.paths(&v, false))
		}
	}
	return o
}

// flag returns the flag in a word that takes a value, and its value. next reports
// that the value is the next word. It returns "" if no flag of the word takes a
// value.
func (t *fileCommand) flag(v string) (flag, value string, next bool) {
	if strings.HasPrefix(v, "--") {
		name, value, eq := strings.Cut(v, "=")
		for _, f := range strings.Fields(t.into + " " + t.from + " " + t.vals) {
			if f == name || len(name) > 3 && strings.HasPrefix(f, name) {
				return f, value, !eq
			}
		}
		return "", "", false
	}
	for i := 1; i < len(v); i++ {
		f := v[i : i+1]
		if f == t.only {
			break // the rest is its value
		}
		if f = "-" + f; has(t.into, f) || has(t.from, f) || has(t.vals, f) {
			return f, v[i+1:], i == len(v)-1
		}
	}
	return "", "", false
}
