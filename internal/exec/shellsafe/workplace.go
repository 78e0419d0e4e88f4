package shellsafe

import (
	"path"
	"slices"
	"strings"
)

// workFlags lists flags that name the folder in which a program works, or a file of that folder, by
// the name of the program.
var workFlags = map[string]string{
	"git": "-C --git-dir --work-tree", "make": "-C --directory", "gmake": "-C --directory", "ninja": "-C", "meson": "-C", "cmake": "-B -S --build --prefix --install", "ctest": "--test-dir",
	"npm": "--prefix -C --pack-destination", "pnpm": "-C --dir --prefix --pack-destination", "yarn": "--cwd", "bun": "--cwd", "deno": "",
	"go": "-C", "cargo": "-C --manifest-path --target-dir --root", "mvn": "-f --file", "gradle": "-p --project-dir -b --build-file", "gradlew": "-p --project-dir", "mvnw": "-f --file",
	"uv": "--directory --project", "poetry": "-C --directory -P --project", "pdm": "-p --project", "pip": "-t --target -d --dest --prefix --root", "pip3": "-t --target -d --dest --prefix --root",
	"composer": "-d --working-dir", "bundle": "--gemfile", "gem": "-i --install-dir", "just": "-d --working-directory -f --justfile", "task": "-d --dir", "mix": "", "dotnet": "-o --output --project",
	"terraform": "-chdir", "tofu": "-chdir", "rake": "-f --rakefile", "gofmt": "", "black": "", "jest": "--rootDir", "vite": "", "webpack": "--output-path", "tsc": "--outDir -p --project",
	"env": "-C --chdir", "sphinx-build": "", "strace": "-o", "script": "",
}

// makesFolders lists programs that make what their operands name after some words.
var makesFolders = map[string]string{
	"virtualenv": "", "python": "-m venv", "python3": "-m venv", "uv": "venv", "cargo": "init new", "dotnet": "new", "django-admin": "startproject", "rails": "new", "mix": "new",
	"poetry": "new", "cookiecutter": "-o",
}

// placeless lists commands of the shell and others that make no files where they run.
const placeless = `cd pushd popd dirs . source eval export set unset exit return true false : echo printf read wait kill pkill killall skill sleep trap ulimit umask alias unalias exec command builtin
	which type hash test [ [[ let shopt local declare typeset readonly shift getopts jobs fg bg disown times history docker podman kubectl gh ssh ps pgrep lsof fuser top free df du date uname
	whoami id groups nproc uptime systemctl service journalctl sudo su xdg-open open reset clear tput stty env timeout nice nohup time xargs if while for`

// worksIn records the folders in which a command works: it may make and change files there whose
// names are not known. Commands of which all files are known are left out.
func (w *walker) worksIn(args []arg, c context) {
	args = canonical(args)
	name := base(args[0].val)
	d := c.dirs
	for i := 1; i < len(args); i++ {
		if args[i].val == "--" {
			break
		}
		flag, value, eq := strings.Cut(args[i].val, "=")
		if !args[i].lit || !has(workFlags[name], flag) {
			continue
		}
		if !eq {
			if i+1 >= len(args) || !args[i+1].lit {
				continue
			}
			i++
			value = args[i].val
		}
		if value == "" || strings.HasPrefix(value, "-") {
			continue
		}
		if file := path.Base(value); strings.Contains(strings.TrimLeft(file, "."), ".") || has("Makefile Rakefile Justfile justfile Gemfile", file) {
			value = path.Dir(value)
		}
		if name == "git" && flag == "-C" || name == "make" || name == "env" {
			d = d.cd(value)
		} else {
			w.works(c.dirs.cd(value))
		}
	}
	if name == "make" || name == "gmake" {
		for i := range args[1:] {
			if _, value, ok := strings.Cut(args[i+1].val, "="); ok && args[i+1].lit && !strings.HasPrefix(args[i+1].val, "-") && strings.Contains(value, "/") && !strings.ContainsAny(value, " $") {
				to := literal(value)
				w.uncertain(c.dirs.paths(&to, false))
			}
		}
	}
	w.makes(args, c)
	if name == "cd" || has(placeless, name) || name == "" || !w.anyFiles(args) {
		return
	}
	w.works(d)
}

// anyFiles reports whether it is unknown which files a command changes.
func (w *walker) anyFiles(args []arg) bool {
	name := base(args[0].val)
	if name == "git" {
		return slices.ContainsFunc(args[1:], func(a arg) bool { return !strings.HasPrefix(a.lead, "-") }) && !onlyReadsGit(args)
	}
	_, known := fileCommands[name]
	if _, reads := table[name]; reads && !has("go npm pnpm yarn cargo tar", name) {
		return false
	}
	return !known || has(guessed+" make go gcc g++ cc c++ clang clang++ ld tar unzip patch curl wget sqlite3 vim vi nano emacs", name)
}

// onlyReadsGit reports whether a git command is one of those that print.
func onlyReadsGit(args []arg) bool {
	return slices.ContainsFunc(args[1:], func(a arg) bool {
		return has("status diff log show blame grep rev-parse ls-files ls-tree cat-file describe shortlog reflog rev-list show-ref for-each-ref version help", a.val)
	})
}

// works records folders as read by a program that may change them, if they are not in a root.
func (w *walker) works(d dirs) {
	if d.within(w.o) {
		return
	}
	for _, folder := range d.list {
		if !(dirs{list: []string{folder}}).within(w.o) {
			w.read([]Path{{Text: folder, Uncertain: true, Place: true}})
		}
	}
}

// uncertain records paths of which it is unknown what a program does with them.
func (w *walker) uncertain(ps []Path) {
	for i := range ps {
		ps[i].Uncertain = true
	}
	w.read(ps)
}

// makes records the folders that a program makes.
func (w *walker) makes(args []arg, c context) {
	words, ok := makesFolders[base(args[0].val)]
	if !ok {
		return
	}
	at := 1
	if words != "" {
		verb := strings.Fields(words)
		at = slices.IndexFunc(args, func(a arg) bool {
			return a.val == verb[len(verb)-1] || len(verb) > 1 && verb[0] != "-m" && a.val == verb[0]
		})
		if at < 1 {
			return
		}
		at++
	}
	for ; at < len(args); at++ {
		if args[at].lit && !strings.HasPrefix(args[at].lead, "-") && strings.Contains(args[at].val, "/") {
			w.write(c.dirs.paths(&args[at], false))
		}
	}
}

// touchedByTar records the archive, the folder to unpack in, and the files to pack.
func (w *walker) touchedByTar(args []arg, c context) {
	var archive, into *arg
	mode, operands, at := "", []arg{}, c.dirs
	set := func(letters string) (file bool) {
		for _, l := range letters {
			if strings.ContainsRune("cruAxtd", l) && mode == "" {
				mode = string(l)
			}
		}
		return strings.Contains(letters, "f")
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		v, value, eq := strings.Cut(a.val, "=")
		next := func() *arg {
			if eq {
				to := literal(value)
				return &to
			}
			if i+1 < len(args) {
				i++
				return &args[i]
			}
			return &arg{}
		}
		switch {
		case v == "-C" || v == "--directory" || v == "--cd":
			to := next()
			if into = to; !to.lit {
				at = dirs{unknown: true}
				continue
			}
			at = at.cd(to.val)
		case v == "--file" || v == "--archive":
			archive = next()
		case has("-T --files-from -X --exclude-from", v):
			w.read(c.dirs.paths(next(), false))
		case v == "--create" || v == "--append" || v == "--update" || v == "--extract" || v == "--get" || v == "--list" || v == "--diff" || v == "--compare":
			set(map[string]string{"--create": "c", "--append": "r", "--update": "u", "--extract": "x", "--get": "x"}[v] + "t")
		case strings.HasPrefix(v, "--"):
			if has("--exclude --transform --strip-components --owner --group --mode --mtime --use-compress-program --wildcards-match --format --newer", v) && !eq {
				i++
			}
		case strings.HasPrefix(v, "-") && len(v) > 1, i == 0 && a.lit && v != "":
			letters := strings.TrimPrefix(v, "-")
			if f := strings.IndexByte(letters, 'f'); strings.HasPrefix(v, "-") && f >= 0 && f < len(letters)-1 { // -fFILE
				set(letters[:f])
				file := literal(letters[f+1:])
				archive = &file
			} else if set(letters) {
				archive = next()
			}
			if strings.HasPrefix(v, "-") && strings.HasSuffix(v, "C") && archive == nil {
				into = next()
				at = at.cd(into.val)
			}
		default:
			operands = append(operands, a)
		}
	}
	if archive != nil && archive.val != "-" {
		if strings.Contains("crAu", mode) && mode != "" {
			w.write(content(c.dirs.paths(archive, false)))
		} else {
			w.read(c.dirs.paths(archive, false))
		}
	}
	switch mode {
	case "c", "r", "u", "A", "":
		for i := range operands {
			w.read(at.paths(&operands[i], false))
		}
	case "x":
		if into != nil {
			w.write(c.dirs.paths(into, false))
		}
		w.works(at)
	}
}
