package shellsafe

import "strings"

// toucher is a command whose operands are files that it changes.
type toucher struct {
	vals   string // flags that take the next word
	into   string // flags whose value is written
	first  int    // operands ahead that are no paths
	reads  string // which operands are read: "" none, "all", "but last"
	writes string // which are written: "" none, "all", "last"
	only   string // only with one of these flags
}

// touchers are data for rules on files.
var touchers = map[string]toucher{
	"rm": {writes: "all"}, "rmdir": {writes: "all"}, "unlink": {writes: "all"}, "shred": {writes: "all", vals: "-n -s"}, "touch": {writes: "all", vals: "-d -t -r --date --reference"}, "mkdir": {writes: "all", vals: "-m --mode"}, "mkfifo": {writes: "all", vals: "-m"}, "mknod": {writes: "all"}, "truncate": {writes: "all", vals: "-s -r --size"}, "tee": {writes: "all"}, "mktemp": {writes: "all", into: "-p --tmpdir"},
	"mv": {reads: "all", writes: "all", into: "-t --target-directory", vals: "-S"}, "cp": {reads: "but last", writes: "last", into: "-t --target-directory", vals: "-S"}, "ln": {reads: "but last", writes: "last", into: "-t --target-directory", vals: "-S"}, "install": {reads: "but last", writes: "last", into: "-t --target-directory", vals: "-m -o -g -S"}, "rsync": {reads: "but last", writes: "last", vals: "-e -f --rsh --exclude --include"}, "scp": {reads: "but last", writes: "last", vals: "-P -i -o -F -J"},
	"chmod": {writes: "all", first: 1}, "chown": {writes: "all", first: 1}, "chgrp": {writes: "all", first: 1}, "setfacl": {writes: "all", vals: "-m -x"}, "chattr": {writes: "all", first: 1},
	"sed": {writes: "all", first: 1, vals: "-e -f -l --expression --file", only: "i"}, "perl": {writes: "all", first: 0, vals: "-e", only: "i"}, "sort": {into: "-o --output", vals: "-k -t -S -T"}, "dd": {}, "split": {reads: "all", vals: "-l -b -n -a -C"}, "patch": {writes: "all", vals: "-p -i -d"}, "gzip": {reads: "all", writes: "all"}, "gunzip": {reads: "all", writes: "all"}, "xz": {reads: "all", writes: "all"}, "bzip2": {reads: "all", writes: "all"}, "zstd": {reads: "all", writes: "all"}, "uniq": {reads: "but last", writes: "last"},
	"curl": {into: "-o --output", vals: "-H -d -X -u -A -b -e -F"}, "wget": {into: "-O --output-document -o", vals: "-U --header"}, "tar": {reads: "all", vals: "-C"}, "zip": {reads: "all"}, "unzip": {reads: "all", into: "-d"},
	"awk": {reads: "all", first: 1, vals: "-F -v -f"}, "gawk": {reads: "all", first: 1, vals: "-F -v -f"}, "mawk": {reads: "all", first: 1, vals: "-F -v -f"}, "less": {reads: "all"}, "more": {reads: "all"}, "bat": {reads: "all", vals: "-l -r"}, "vim": {reads: "all", writes: "all", vals: "-c"}, "vi": {reads: "all", writes: "all", vals: "-c"}, "nano": {reads: "all", writes: "all"}, "emacs": {reads: "all", writes: "all"}, "code": {reads: "all", writes: "all"}, "ed": {reads: "all", writes: "all"},
	"source": {reads: "all"}, ".": {reads: "all"}, "bash": {reads: "all", vals: "-c -o -O"}, "sh": {reads: "all", vals: "-c -o"}, "python": {reads: "all", vals: "-c -m"}, "python3": {reads: "all", vals: "-c -m"}, "node": {reads: "all", vals: "-e -p"}, "perl5": {reads: "all"}, "ruby": {reads: "all", vals: "-e"}, "php": {reads: "all", vals: "-r"},
	"openssl": {reads: "all"}, "gpg": {reads: "all"}, "yq": {reads: "all", first: 1}, "xmllint": {reads: "all"}, "iconv": {reads: "all", vals: "-f -t", into: "-o --output"}, "csplit": {reads: "all"}, "sqlite3": {reads: "all", writes: "all"}, "nl": {}, "pandoc": {reads: "all", into: "-o --output"}, "ssh-keygen": {reads: "all", into: "-f"}, "make": {reads: "", vals: "-C -f"},
}

// touched notes the files that a known command writes or reads. Commands of the
// table that read are noted where they are judged.
func (w *walker) touched(args []arg, c context) {
	name := base(args[0].val)
	t, ok := touchers[name]
	if !ok {
		return
	}
	var ops []arg
	only := t.only == ""
	first := t.first
	for i := 1; i < len(args); i++ {
		a := &args[i]
		flag, attached, eq := strings.Cut(a.val, "=")
		switch {
		case name == "dd":
			v := literal(attached)
			v.lit = a.lit
			if !a.lit {
				v.text = a.text
			}
			if strings.HasPrefix(a.lead, "of=") {
				w.write(c.dirs.paths(&v, false))
			} else if strings.HasPrefix(a.lead, "if=") {
				w.read(c.dirs.paths(&v, false))
			}
		case a.lit && a.val == "--":
			ops = append(ops, args[i+1:]...)
			i = len(args)
		case strings.HasPrefix(a.lead, "-") && a.val != "-":
			only = only || !strings.HasPrefix(a.val, "--") && strings.Contains(a.val, t.only) || strings.HasPrefix(a.val, "--in")
			switch {
			case has(t.into, flag) && eq:
				v := literal(attached)
				w.write(c.dirs.paths(&v, false))
			case has(t.into, flag) && i+1 < len(args):
				i++
				w.write(c.dirs.paths(&args[i], false))
			case attachedValue(t.into, a.val):
				v := literal(a.val[2:])
				w.write(c.dirs.paths(&v, false))
			case has(t.vals, flag) && !eq:
				i++
				if name == "sed" && flag != "-l" {
					first = 0
				}
			}
		default:
			ops = append(ops, *a)
		}
	}
	if !only {
		return
	}
	for i := min(first, len(ops)); i < len(ops); i++ {
		last := i == len(ops)-1
		if t.writes == "all" || t.writes == "last" && last {
			w.write(c.dirs.paths(&ops[i], name == "rm" || name == "mv"))
		}
		if t.reads == "all" || t.reads == "but last" && !last {
			w.read(c.dirs.paths(&ops[i], false))
		}
	}
}
