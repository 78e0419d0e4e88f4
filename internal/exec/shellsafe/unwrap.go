package shellsafe

import (
	"slices"
	"strings"
)

// wrapper is a program that runs another one, which rules that deny must see.
type wrapper struct {
	vals string // flags that take the next word
	bare string // flags without a value, beside plainFlags
	opt  string // flags with an optional value, which must be attached
	skip int    // number of operands before the command
	env  bool   // assignments may come before the command
	text bool   // the rest is one text for a shell
	c    string // flags whose value is a text for a shell
	exec string // flags whose value begins the command
	dir  string // flags whose value is the folder in which the command runs
	less bool   // the operands counted by skip may be missing
	sh   string // without a command it is a shell: "always", or with one of these words; "bare" is no word at all
	tty  bool   // the command gets a terminal
	dash bool   // the command also follows --
}

// wrappers is a table for rules only. After an unknown flag, every later word may
// be a command, and the whole text is unresolved.
var wrappers = map[string]wrapper{
	"env": {vals: "-u -P --unset -C --chdir", env: true, c: "-S --split-string", dir: "-C --chdir"}, "sudo": {sh: "-s -i --shell --login", vals: "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot", env: true, dir: "-D --chdir"}, "sudo-rs": {sh: "-s -i --shell --login", vals: "-u -g -h -p -D -R --user --group --chdir", env: true, dir: "-D --chdir"},
	"doas": {sh: "-s", vals: "-u -C"}, "su": {sh: "always", c: "-c --command", vals: "-s -g -G --shell --group", skip: 99}, "runuser": {sh: "always", c: "-c --command", vals: "-u -s -g -G --user --shell --group"}, "run0": {sh: "always", vals: "-u --user -g --group -D --chdir", dir: "-D --chdir"}, "pkexec": {sh: "always", vals: "--user"}, "gosu": {skip: 1}, "su-exec": {skip: 1}, "sg": {sh: "always", skip: 1, c: "-c", text: true},
	"command": {}, "builtin": {}, "exec": {vals: "-a"}, "nohup": {}, "setsid": {}, "nice": {vals: "-n --adjustment"}, "ionice": {vals: "-c -n -p --class --classdata"}, "chrt": {skip: 1, vals: "-T -P -D"}, "taskset": {skip: 1, bare: "-c -a --cpu-list --all-tasks"}, "numactl": {vals: "-N -m -i -C -p"}, "prlimit": {vals: "-p --pid"}, "schedtool": {vals: "-n -a"}, "cpulimit": {vals: "-l -p"},
	"timeout": {vals: "-k -s --kill-after --signal", skip: 1}, "stdbuf": {vals: "-i -o -e --input --output --error"}, "unbuffer": {tty: true}, "time": {vals: "-f -o --format --output"}, "watch": {vals: "-n -q -s --interval --equexit --shotsdir", opt: "-d --differences", text: true}, "script": {tty: true, sh: "always", c: "-c --command", vals: "-T -I -O -B -E -m -o", skip: 1}, "flock": {vals: "-w -E --timeout --wait --conflict-exit-code", skip: 1, c: "-c --command"},
	"xargs": {vals: "-a -d -E -I -J -L -n -P -R -s -S --arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var", opt: "-e -i -l --eof --replace --max-lines"}, "parallel": {vals: "-j --jobs -N -n -a --delay --timeout -S --colsep --halt --retries --joblog --results --load --memfree --tagstring", bare: "-u -X -m --bar --eta --progress --tag --line-buffer --lb --will-cite --dry-run --keep-order --resume --resume-failed --ungroup --no-notice", text: true}, "chronic": {}, "ts": {}, "rlwrap": {vals: "-b -C -D -f -g -H -l -M -o -O -P -q -s -S -t -w -z", opt: "-a -m -p"}, "fakeroot": {sh: "always", vals: "-l -s -i -b --lib --faked"}, "faketime": {skip: 1}, "eatmydata": {}, "torsocks": {sh: "--shell", vals: "-a -p -P -u --address --port --pass --user"}, "torify": {}, "proxychains": {vals: "-f"}, "proxychains4": {vals: "-f"}, "tsocks": {}, "caffeinate": {vals: "-t -w"}, "dbus-run-session": {sh: "always"}, "xvfb-run": {vals: "-n -s -e -f -p -w --server-num --server-args --error-file --auth-file --xauth-protocol --wait", bare: "-a -l --auto-servernum --auto-display --listen-tcp"}, "tini": {vals: "-p -e"}, "dumb-init": {vals: "-r --rewrite"}, "catchsegv": {}, "entr": {}, "direnv": {skip: 2},
	"strace": {vals: "-o -e -p -s -u -E -a -b -I -O -P -S -X -U", bare: "-c -C -d -D -F -h -k -N -T -V -w -y -Y -z -Z -q --summary-only --summary --follow-forks --relative-timestamps --syscall-times"}, "ltrace": {vals: "-o -e -p -s -u -E -a -n -l -A -F -w", bare: "-b -c -C -h -L -S -t -T -V"}, "valgrind": {}, "gdb": {vals: "-x -ex -d -iex -ix -eval-command --eval-command --ex --iex -command --command -cd -directory --directory -pid --pid -p -c -core --core -s -se -b -tty", bare: "-batch -batch-silent -q -quiet -silent -nx -nh -nw -args --batch --batch-silent --nx --nh --nw -return-child-result"}, "perf": {skip: 1, vals: "-o -e -F -p -t -C -c -I -D -m -G -u --output --event --freq --count --cpu --call-graph", bare: "-g -a -R -N -B --stdio --no-children --children --all-cpus --stat --detailed --no-inherit --header"}, "chroot": {sh: "always", skip: 1}, "unshare": {sh: "always", vals: "-S -G -R -w --setuid --setgid --root --wd", bare: "-U -m -u -n -C -T -c --map-current-user --map-auto --cgroup --time --mount-proc --keep-caps"}, "nsenter": {sh: "always", vals: "-t -S -G --target"}, "setpriv": {vals: "--reuid --regid"}, "capsh": {sh: "--", c: "-c"}, "systemd-run": {tty: true, sh: "-t -S --pty --shell", vals: "-u -p -E --unit --property --setenv"}, "systemd-inhibit": {}, "start-stop-daemon": {exec: "-x --exec -a --startas", vals: "-p -n -u -c -d --pidfile --name --user --chuid --chdir", skip: 99}, "linux32": {sh: "always"}, "linux64": {sh: "always"}, "i386": {sh: "always"}, "i586": {sh: "always"}, "i686": {sh: "always"}, "x86_64": {sh: "always"}, "uname26": {sh: "always"}, "setarch": {sh: "always", skip: 1, less: true}, "firejail": {sh: "always"}, "bwrap": {}, "busybox": {}, "toybox": {}, "cgexec": {vals: "-g"}, "daemonize": {vals: "-a -e -o -p -l -u -c"}, "at": {}, "batch": {}, "screen": {tty: true, sh: "always", vals: "-S -t"}, "tmux": {tty: true, vals: "-c -e -F -f -n -s -t -x -y", sh: "bare -C -CC new new-session neww new-window splitw split-window respawnp respawn-pane respawnw respawn-window", skip: 99},
	"ssh-agent": {vals: "-a -E -O -P -t"}, "gpg-agent": {}, "logsave": {skip: 1}, "choom": {vals: "-n -p --adjust --pid"}, "uclampset": {vals: "-m -M -p"}, "pipesz": {vals: "-s -f -n --set --file --fd"}, "newgrp": {sh: "always", c: "-c --command", skip: 99}, "dtach": {tty: true, sh: "always", vals: "-n -c -a -A -N -p -e -r"}, "abduco": {tty: true, sh: "always", vals: "-n -c -a -A -e"}, "daemon": {}, "systemd-nspawn": {sh: "always", vals: "-D -M -u -i --directory --machine --user --image"}, "chpst": {vals: "-u -U -b -/ -n -l -L -m -d -o -p -f -c -r -t -e"}, "envdir": {skip: 1}, "setuidgid": {skip: 1}, "s6-setuidgid": {skip: 1}, "envuidgid": {skip: 1}, "setlock": {skip: 1}, "softlimit": {vals: "-a -c -d -f -l -m -o -p -r -s -t"}, "rr": {skip: 1}, "multitime": {vals: "-n"}, "retry": {}, "ifne": {}, "zrun": {}, "lckdo": {skip: 1}, "empty": {tty: true}, "ttyd": {vals: "-p -i -u -g"}, "gotty": {vals: "-p -a"}, "flatpak-spawn": {}, "distrobox-enter": {sh: "always", vals: "-n"}, "execlineb": {c: "-c"}, "bpftrace": {c: "-c", skip: 99}, "ttyrec": {tty: true, sh: "always", c: "-e", skip: 99},
	"xterm": {tty: true, sh: "always", exec: "-e -x", skip: 99}, "x-terminal-emulator": {sh: "always", exec: "-e -x", skip: 99}, "konsole": {sh: "always", exec: "-e", skip: 99}, "alacritty": {sh: "always", exec: "-e --command", skip: 99}, "kitty": {sh: "always"}, "gnome-terminal": {sh: "always", c: "-e --command"}, "xinit": {sh: "always"}, "startx": {sh: "always"}, "dbus-launch": {}, "k5start": {vals: "-f -k -K -t -U"}, "krenew": {vals: "-k -K"}, "envchain": {skip: 1}, "watchexec": {vals: "-w -e -f -i -d -s --watch --exts --filter --ignore", text: true}, "reflex": {vals: "-g -r -G -R"}, "cross-env-shell": {text: true, env: true}, "mispipe": {text: true}, "pee": {text: true}, "cmd": {skip: 1}, "fish": {c: "-c -C --command --init-command", skip: 99},
	"crontab": {vals: "-u", skip: 99}, "rush": {vals: "-j -i -o", text: true}, "proot": {sh: "always", vals: "-r -b -w -q -R -S"}, "fakechroot": {sh: "always"}, "wine": {}, "arch": {}, "xcrun": {vals: "--sdk --toolchain"}, "sandbox-exec": {vals: "-p -f -n -D"}, "qemu-x86_64": {}, "qemu-aarch64": {}, "qemu-x86_64-static": {}, "qemu-aarch64-static": {},
	"coreutils": {c: "--coreutils-prog"}, "sem": {vals: "-j --jobs --id", text: true}, "runcon": {vals: "-t -u -r -l --type --user --role --range", skip: 1, less: true}, "trickle": {vals: "-d -u -w -t -l -n"}, "wsl": {vals: "-d -u --distribution --user --cd"}, "pdsh": {vals: "-w -x -g -l -f", text: true}, "clush": {vals: "-w -x -g -l -f", text: true}, "pssh": {vals: "-h -H -l -p -o -e -t -O", text: true}, "parallel-ssh": {vals: "-h -H -l -p -o -e -t -O", text: true},
	"coproc": {}, "hyperfine": {vals: "-w -r -m -M -n -i -u --warmup --runs --min-runs --max-runs --export-json --export-markdown --export-csv --export-asciidoc --export-orgmode --style --command-name --input --output --time-unit", bare: "-N --ignore-failure --show-output", text: true}, "ld.so": {vals: "--library-path --preload --argv0 --inhibit-rpath"}, "ld-linux-x86-64.so.2": {vals: "--library-path --preload --argv0 --inhibit-rpath"}, "ld-linux-aarch64.so.1": {vals: "--library-path --preload --argv0 --inhibit-rpath"}, "ld-musl-x86_64.so.1": {vals: "--library-path --preload --argv0"},
}

// runners is a table like wrappers. What is not known of these programs makes the
// analysis doubtful, not unresolved.
var runners = map[string]wrapper{
	"onchange": {skip: 99, dash: true}, "chokidar": {c: "-c --command", skip: 99}, "watchman-make": {c: "-r --run", skip: 99}, "watchmedo": {c: "-c --command", skip: 99}, "when-changed": {c: "-c", skip: 1}, "ptw": {c: "--runner --onpass --onfail --beforerun --afterrun", dash: true, skip: 99}, "tsc-watch": {c: "--onSuccess --onFailure --onFirstSuccess --onCompilationComplete", skip: 99}, "viddy": {vals: "-n --interval"}, "wait-on": {skip: 99, dash: true}, "wait-for-it": {skip: 99, dash: true}, "wait-for-it.sh": {skip: 99, dash: true}, "dockerize": {vals: "-wait -timeout -template -stdout -stderr"},
	"lockf": {vals: "-t", skip: 1}, "dotlockfile": {vals: "-r"}, "timelimit": {vals: "-t -T -s -S"}, "run-one": {}, "keep-one-running": {}, "ccache": {}, "sccache": {}, "distcc": {}, "bear": {dash: true}, "scan-build": {vals: "-o"}, "newrelic-admin": {skip: 1}, "ddtrace-run": {}, "systemd-cat": {vals: "-t -p --identifier --priority"}, "aa-exec": {vals: "-p -n --profile --namespace"}, "nsjail": {dash: true, skip: 99}, "rootlesskit": {}, "summon": {vals: "-f -p -e"}, "env-cmd": {vals: "-f -e -r"}, "envconsul": {vals: "-prefix -secret -config -upcase"},
	"rsh": {skip: 1}, "sbatch": {c: "--wrap", skip: 99}, "srun": {vals: "-n -N -c -p -t -w -A -J"}, "salloc": {sh: "always", vals: "-n -N -c -p -t -w -A -J"}, "mpirun": {vals: "-n -np -c -H --host --hostfile -machinefile -N"}, "mpiexec": {vals: "-n -np -host -hosts -f -ppn"}, "sshuttle": {c: "-e --ssh-cmd", skip: 99}, "tcpserver": {skip: 2}, "openvt": {vals: "-c"}, "arch-chroot": {sh: "always", skip: 1, vals: "-u"}, "schroot": {sh: "always", vals: "-c -u -d -s --chroot --user --directory"}, "login": {sh: "always", skip: 99}, "sulogin": {sh: "always", skip: 99}, "asciinema": {c: "-c --command", sh: "rec", skip: 99, tty: true}, "dvtm": {sh: "always", text: true},
}

// shells lists the programs that take a text with -c.
const shells = "sh bash dash zsh ksh ksh93 mksh lksh oksh loksh pdksh ash hush fish rbash rksh rzsh yash posh bosh bsh osh csh tcsh nu elvish xonsh rc es"

// unwrap lists the commands that a command runs, and the texts that it gives to a
// shell.
func (w *walker) unwrap(args []arg, c context) {
	if w.depth++; w.depth > maxNesting {
		w.unresolve("it is nested too deeply")
		w.depth--
		return
	}
	defer func() { w.depth-- }()
	args = canonical(args)
	name := base(args[0].val)
	if !args[0].lit {
		name = ""
	}
	c.inner, c.wrapped = true, true
	for _, sign := range []string{"=", "^", "e:"} { // zsh, nu, and elvish find a program behind it
		if bare, ok := strings.CutPrefix(args[0].text, sign); ok && bare != "" && args[0].lit {
			w.inner(append([]arg{literal(bare)}, args[1:]...), c)
		}
	}
	w.escapes(name, args, c)
	w.speaks(name, args, c)
	if name == "xargs" || name == "parallel" {
		c.fed, c.place = true, replaced(args)
	}
	if name == "xargs" && !slices.ContainsFunc(args, func(a arg) bool { return strings.HasPrefix(a.val, "-") && strings.ContainsAny(a.val, "oa") }) {
		c.input = input{} // its command gets an empty one
	}
	if name == "runuser" && !slices.ContainsFunc(args, func(a arg) bool { return strings.HasPrefix(a.val, "-u") || strings.HasPrefix(a.val, "--u") }) {
		name = "su"
	}
	switch {
	case name == "":
		return
	case has(shells, name):
		w.shell(args[1:], c)
		if x, ok := wrappers[name]; ok {
			w.listUncertain(func() { w.skipWrapper(name, x, args, c) })
		}
	case name == "command" && len(args) > 1 && strings.HasPrefix(args[1].val, "-") && strings.ContainsAny(args[1].val, "vV"):
	case name == "eval":
		w.text2(args[1:], c)
	case name == "trap" && len(args) > 1:
		rest := args[1:]
		if rest[0].val == "--" {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].val != "-" && rest[0].val != "-l" && rest[0].val != "-p" {
			w.text2(rest[:1], c)
		}
	case name == "hash" && slices.ContainsFunc(args[1:], func(a arg) bool { return strings.HasPrefix(a.val, "-") && strings.Contains(a.val, "p") }):
		w.unresolve("hash -p gives a program another name")
	case (name == "source" || name == ".") && len(args) > 1 && (!args[1].lit || isDevice(args[1].val)):
		w.unresolve("what " + name + " runs is only known then: " + shortForm(args[1].text))
	case name == "alias":
		for i := 1; i < len(args); i++ {
			if _, v, ok := strings.Cut(args[i].text, "="); ok {
				w.reparse(v, args[i].lit, c)
			}
		}
	case name == "mapfile" || name == "readarray" || name == "compgen" || name == "complete":
		for i := 1; i < len(args)-1; i++ {
			if args[i].val == "-C" { // words are added: an index, and what was read
				w.text2([]arg{args[i+1], literal(`0 "$_"`)}, c)
			}
		}
	case name == "jobs":
		w.jobs(args, c)
	case name == "bind":
		for i := 1; i < len(args); i++ {
			if args[i-1].lead != "" && strings.HasPrefix(args[i-1].lead, "-") && strings.HasSuffix(args[i-1].val, "x") {
				_, text, _ := strings.Cut(args[i].text, ":")
				w.reparse(text, args[i].lit, c)
			}
		}
	case name == "find" || name == "fd" || name == "fdfind":
		w.finds(args, c)
	case name == "git":
		w.launches(name, args, c)
	default:
		if len(args) == 2 && (args[1].val == "--version" || args[1].val == "--help") {
			return
		}
		if x, ok := wrappers[name]; ok {
			w.skipWrapper(name, x, args, c)
		} else if x, ok := runners[name]; ok {
			w.listUncertain(func() { w.skipWrapper(name, x, args, c) })
		}
		w.launches(name, args, c)
	}
}

// jobs lists the command of jobs -x.
func (w *walker) jobs(args []arg, c context) {
	for i := 1; i < len(args); i++ {
		a := &args[i]
		switch {
		case !a.lit && (a.lead == "" || a.lead[0] == '-'):
			w.listPossible("jobs", args[i:], c)
			return
		case !strings.HasPrefix(a.val, "-") || a.val == "--":
			return
		case strings.Contains(a.val, "x"):
			w.inner(args[i+1:], c)
			return
		}
	}
}

// inner lists a command that another one runs.
func (w *walker) inner(args []arg, c context) {
	if len(args) == 0 || w.commands > maxListed {
		return // a text over the limit of commands is unresolved
	}
	w.commands++
	cmd := Command{Wrapped: true, Inner: true}
	w.describe(&cmd, args)
	if c.fed && cmd.Literal {
		cmd.Literal, cmd.KnownPrefix = false, fedUpTo(cmd.Text, c.place)
	}
	for i := range cmd.Forms {
		if f := &cmd.Forms[i]; c.fed && f.KnownPrefix == "" {
			f.KnownPrefix = fedUpTo(f.Text, c.place)
		}
	}
	cmd.Possible = w.possible(args, c)
	at := len(w.a.Commands)
	w.a.Commands = w.appendCommand(cmd)
	if !args[0].lit || args[0].val == "" {
		w.unresolve("the name of a command is not literal: " + shortForm(args[0].text))
		return
	}
	if c.replaces(args[0].val) {
		w.setIncomplete("the name of a command is only known when it runs: " + shortForm(args[0].text))
	}
	w.unwrap(args, c)
	outer := w.unknownWrites
	w.unknownWrites = false
	from := len(w.a.Reads)
	w.touched(args, c)
	w.worksIn(args, c)
	w.bestReads(args, c)
	if at < len(w.a.Commands) {
		w.a.Commands[at].UnknownWrites = w.unknownWrites || c.fed && fileCommands[cmd.Name].writes != ""
		w.a.Commands[at].reads = w.a.Reads[from:len(w.a.Reads):len(w.a.Reads)]
	}
	w.unknownWrites = outer
}

// startsShell reports whether the wrapper starts a shell, given that no command was found.
func (x *wrapper) startsShell(args []arg) bool {
	words := texts(args[1:])
	if n := len(words); n > 1 && x.skip == 99 && has(x.sh, "bare") && words[n-1] != "" && words[n-1][0] != '-' && !has(x.sh, words[n-1]) && !(words[n-2][:min(1, len(words[n-2]))] == "-" && endsIn(x.vals, words[n-2])) {
		return false // the last word is a command
	}
	return x.sh == "always" || has(x.sh, "bare") && len(words) == 0 || x.sh != "" && flagged(words, x.sh) ||
		slices.ContainsFunc(words, func(v string) bool { return has(x.sh, v) })
}

// skipWrapper skips the flags of a wrapper and lists its command.
func (w *walker) skipWrapper(name string, x wrapper, args []arg, c context) {
	skip := x.skip
	c.input.tty = c.input.tty || x.tty && !c.input.none()
	i := 1
	for ; i < len(args); i++ {
		a := &args[i]
		v := a.val
		switch {
		case !a.lit && a.lead == "" || !a.lit && a.lead[0] == '-':
			if x.text || i == len(args)-1 && skip == 0 {
				break
			}
			if skip == 0 || strings.HasPrefix(a.lead, "-") {
				w.listPossible(name, args[i:], c)
				return
			}
		case v == "--" && x.dash:
			w.inner(args[i+1:], c)
			return
		case v == "--", x.env && v == "-":
			continue
		case strings.HasPrefix(v, "-") && len(v) > 1 || strings.HasPrefix(v, "+") && name == "xargs":
			flag, attached, eq := strings.Cut(v, "=")
			if x.dir != "" {
				c.dirs = w.into(&x, args[i:], c.dirs)
			}
			switch {
			case has(x.c, flag) || x.c != "" && !strings.HasPrefix(v, "--") && hasShort(x.c, v):
				text, rest := "", args[i+1:]
				lit := a.lit
				switch {
				case eq && strings.HasPrefix(v, "--"):
					text = attached
				case !has(x.c, flag) && !endsIn(x.c, v): // -S'touch x'
					text = v[shortAt(x.c, v)+1:]
				case len(rest) > 0:
					text, lit, rest = rest[0].text, rest[0].lit, rest[1:]
				}
				if name == "env" { // the rest are further words
					for j := range rest {
						text += " " + quote(rest[j].text)
						lit = lit && rest[j].lit
					}
				}
				w.reparse(text, lit, c)
				return
			case has(x.exec, flag) && !eq:
				w.inner(args[i+1:], c)
				return
			case has(x.vals, flag) && !eq:
				if i++; i < len(args) {
					w.passed(&args[i], args[i].text, c)
				}
			case eq && w.passed(a, attached, c):
			case has(x.opt, flag):
			case eq || has(plainFlags, v) || has(x.bare, v) || numeric(v[1:]):
			default:
				next, ok := cluster(&x, v)
				if next {
					i++
				}
				if !ok && skip < 90 {
					w.listPossible(name, args[i+1:], c)
					return
				}
			}
			continue
		case x.env && strings.Contains(a.text, "=") && !strings.HasPrefix(a.text, "="):
			key, value, _ := strings.Cut(a.text, "=")
			w.variable(key, value, a.lit, c)
			continue
		}
		if skip > 0 {
			if x.less {
				w.inner(args[i:], c)
			}
			skip--
			continue
		}
		break
	}
	if (name == "at" || name == "batch" || name == "crontab") && !flagged(texts(args[1:]), "-l -r") {
		w.setIncomplete(name + " reads its commands from its input")
	}
	if i >= len(args) {
		if name == "parallel" || c.fed && skip == 0 {
			w.setIncomplete("what " + name + " runs is only known when it runs")
		}
		if x.startsShell(args) {
			w.startsShell(name, c)
		}
		return
	}
	rest := args[i:]
	if x.text && len(rest) > 0 {
		lit := true
		words := make([]string, 0, len(rest))
		for j := range rest {
			if rest[j].val == ":::" || rest[j].val == "::::" {
				w.parallel(rest[j:], len(words) == 0 || strings.Contains(words[0], "{"), c)
				break
			}
			words = append(words, rest[j].text)
			lit = lit && rest[j].lit
		}
		if len(words) == 0 {
			return
		}
		w.inner(rest[:len(words)], c)
		w.reparse(strings.Join(words, " "), lit, c)
		return
	}
	if name == "flock" && rest[0].val == "-c" && len(rest) > 1 {
		w.reparse(rest[1].text, rest[1].lit, c)
		return
	}
	w.inner(rest, c)
}

// passed reports whether the value of a flag is an assignment, as for --setenv. It
// lists the commands that programs run because of it.
func (w *walker) passed(a *arg, value string, c context) bool {
	name, value, ok := strings.Cut(value, "=")
	if ok {
		w.variable(name, value, a.lit, c)
	}
	return ok
}

// parallel lists the words after ::: that become the name of the command, if named
// is set.
func (w *walker) parallel(inputs []arg, named bool, c context) {
	for i := range inputs {
		switch {
		case !named:
		case inputs[i].val == "::::":
			w.setIncomplete("what parallel runs is only known when it runs")
		case inputs[i].val != ":::":
			w.listUncertain(func() { w.reparse(inputs[i].text, inputs[i].lit, c) })
		}
	}
}

// plainFlags lists flags of wrappers that take no value.
const plainFlags = "-print0 -0 --null -i -n -S -k -b -E -H -P -A -s -l -v -p -r -t -x -f -q --preserve-status --foreground --verbose --no-run-if-empty --ignore-environment --non-interactive --login --preserve-env --background --fork --wait --ctty --reset-env --pipe --scope --user --pty --quiet --interactive --exit --args --map-root-user --mount --pid --net --ipc --uts --silent --no-fork --shared --exclusive --unlock --close"

// cluster parses a word of short flags. next reports that the last one takes the
// next word; ok reports that all are known.
func cluster(x *wrapper, v string) (next, ok bool) {
	for i := 1; i < len(v); i++ {
		f := "-" + v[i:i+1]
		if has(x.opt, f) {
			return false, true // the rest is its value
		}
		if has(x.vals, f) {
			return i == len(v)-1, true
		}
		if f == "--" || !has(plainFlags, f) && !has(x.bare, f) {
			return false, false
		}
	}
	return false, true
}

func numeric(s string) bool { return digits(strings.TrimPrefix(s, "-")) }

// hasShort reports whether a cluster contains one of the short flags.
func hasShort(flags, cluster string) bool { return shortAt(flags, cluster) > 0 }

func shortAt(flags, cluster string) int {
	for i := 1; i < len(cluster); i++ {
		if has(flags, "-"+cluster[i:i+1]) {
			return i
		}
	}
	return 0
}

func endsIn(flags, cluster string) bool { return shortAt(flags, cluster) == len(cluster)-1 }

// listPossible lists every remaining word as a possible command.
func (w *walker) listPossible(name string, args []arg, c context) {
	w.unresolve("what " + name + " runs is not known")
	for i := range args {
		if i > 16 {
			return
		}
		if args[i].lit && args[i].val != "" && args[i].val[0] != '-' {
			w.inner(args[i:], c)
		}
	}
}

// shell finds the text of sh -c.
func (w *walker) shell(args []arg, c context) {
	w.options = true
	text, input := false, false
	for i := 0; i < len(args); i++ {
		v := args[i].val
		if !args[i].lit && (args[i].lead == "" || args[i].lead[0] == '-') && !text {
			w.unresolve("the words of a shell are not literal: " + shortForm(args[i].text))
		}
		if v == "--rcfile" || v == "--init-file" {
			if i++; i < len(args) && (!args[i].lit || isDevice(args[i].val)) {
				w.unresolve("a file that a shell reads is only known then: " + shortForm(args[i].text))
			}
			continue
		}
		if len(v) > 1 && (v[0] == '-' || v[0] == '+') && v != "--" && args[i].lit {
			if v[1] != '-' {
				text = text || strings.ContainsRune(v, 'c')
				input = input || v[0] == '-' && strings.ContainsRune(v, 's')
				if strings.ContainsAny(v[1:], "oO") {
					i++
				}
			}
			continue
		}
		if v == "--" || v == "-" {
			continue
		}
		if text {
			w.reparse(args[i].text, args[i].lit, c)
		} else if input {
			break
		} else if isDevice(v) {
			w.unresolve("what a shell reads from " + v + " is only known then")
		}
		return
	}
	if len(args) != 1 || args[0].val != "--version" && args[0].val != "--help" {
		w.unresolve("a shell reads its commands from its input")
	}
}

// text2 joins words to one text for a shell, and walks it.
func (w *walker) text2(args []arg, c context) {
	lit := true
	words := make([]string, len(args))
	for i := range args {
		words[i] = args[i].text
		lit = lit && args[i].lit
	}
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	w.reparse(strings.Join(words, " "), lit, c)
}

// reparse walks a text that a command gives to a shell.
func (w *walker) reparse(text string, lit bool, c context) {
	if !lit {
		w.unresolve("the text that a shell gets is not literal: " + shortForm(text))
	}
	if c.reparse++; c.reparse > maxReparse {
		w.unresolve("shells within shells within shells")
		return
	}
	if !strings.ContainsAny(text, "'\"`#<$") {
		text = Normalize(text) // the shell cannot join its lines otherwise
	}
	why, parse := gate(text)
	if why != "" {
		w.unresolve(why)
	}
	if !parse && why != "" {
		return
	}
	if c.replaces(text) {
		w.setIncomplete("the text that a shell gets is only known when it runs: " + shortForm(text))
	}
	c.fed = false // c.dirs stays: the shell runs in the wrapper's folder, as far as it is known
	script := w.script
	w.script = buffer{}
	w.parse(text, c)
	w.script = script
	w.deny("it gives a text to a shell")
}
