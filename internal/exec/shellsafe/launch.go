package shellsafe

import (
	"slices"
	"strings"
)

// launcher describes a program that runs a command named by its words, for rules
// that deny and ask. They do not see commands of programs that are missing here,
// and no entry makes a command more trusted.
type launcher struct {
	// verbs lists the words after which the command follows; "": it follows the
	// flags.
	verbs string
	ahead string // words that may come before a verb, as tool in uv tool run
	own   string // with verbs: the program's own subcommands; any other word is a command
	vals  string // flags that take the next word
	c     string // flags whose value is a command; long ones may be abbreviated
	exec  string // flags after which the words of the command follow
	none  bool   // no operand is a command
	host  bool   // a text for a shell follows the first operand
	skip  int    // number of words after the verb that may be a version rather than the command
	dash  bool   // the command follows -- if there is one
	apart bool   // its command sees other files
	any   string // flags like c, at any place
	sh    string // words with which it is a shell without a command; "always": any
}

const (
	packageVerbs = "add audit bin build c cache ci completion config create deploy doctor dedupe env explain fetch help i import info init install install-test it licenses link list ln ll la login logout ls node outdated owner pack patch patch-commit plugin pm policies prune publish rb rebuild recursive remove repl restart rm root run run-script search self-update server set setup start stop store t test tst tag team unlink unplug up update upgrade upgrade-interactive version versions view whoami why workspace workspaces x"
	npxVals      = "-p --package -w --workspace --prefix --cache --registry --userconfig --node-options --loglevel --shell"
	pnpmVals     = "-C --dir -F --filter --package --filter-prod --config --reporter --loglevel --test-pattern --workspace-concurrency"
	uvVals       = "--with --with-editable --with-requirements --extra --group --no-group --only-group --no-extra --env-file -p --python --index --default-index -i --index-url --extra-index-url -f --find-links -P --upgrade-package --reinstall-package --refresh-package --package --no-editable-package --project --directory --config-file --cache-dir --color --link-mode --resolution --prerelease --exclude-newer --from -c --constraints -b --build-constraints --overrides --config-setting --keyring-provider --index-strategy --allow-insecure-host --python-platform --python-preference --torch-backend"
	sshVals      = "-b -B -D -E -e -F -I -i -J -L -l -m -O -o -p -P -Q -R -S -W -w -c"
)

// container describes programs that run commands in containers.
var container = launcher{
	apart: true, verbs: "exec run create", ahead: "container compose", skip: 1, c: "--entrypoint --health-cmd",
	vals: globals["docker"].vals + " -e --env --env-file -v --volume -w --workdir -u --user -p --publish --name -h --hostname --network --mount --platform -l --label --cpus -m --memory --add-host --cap-add --cap-drop --device --dns --ipc --pid --restart --security-opt --shm-size --tmpfs --ulimit --detach-keys --index -f --file --project-name --pull --gpus --userns --runtime",
}

var launchers = map[string]launcher{
	// Package managers.
	"npx": {sh: "always", vals: npxVals, c: "-c --call", any: "--script-shell"}, "pnpx": {sh: "always", vals: pnpmVals, c: "-c"}, "bunx": {vals: "-p --package"}, "uvx": {vals: uvVals},
	"npm": {sh: "exec x", verbs: "exec x", vals: npxVals, c: "-c --call", any: "--script-shell --shell --editor --viewer --git"}, "pnpm": {verbs: "exec dlx", own: packageVerbs, ahead: "recursive", vals: pnpmVals, any: "--script-shell --shell-emulator"}, "yarn": {verbs: "run exec dlx", own: packageVerbs, vals: "--cwd -p --package", ahead: "workspace workspaces foreach"}, "bun": {verbs: "x run", own: packageVerbs, vals: "--cwd --filter -F --config -c --env-file -r --preload"},
	"uv": {verbs: "run", ahead: "tool", vals: uvVals}, "poetry": {sh: "shell", verbs: "run", vals: "-C --directory -P --project"}, "pipenv": {sh: "shell", verbs: "run", vals: "--python"}, "pipx": {verbs: "run", vals: "--spec --index-url --python --pip-args --with"}, "pdm": {verbs: "run", vals: "-p --project --venv"}, "hatch": {sh: "shell", verbs: "run", vals: "-e --env -p --project"}, "rye": {verbs: "run"}, "conda": {verbs: "run", vals: "-n --name -p --prefix --cwd"}, "mamba": {verbs: "run", vals: "-n --name -p --prefix"}, "micromamba": {verbs: "run", vals: "-n --name -p --prefix"}, "pixi": {sh: "shell", verbs: "run", vals: "-e --environment --manifest-path"},
	"bundle": {verbs: "exec", vals: "--gemfile"}, "rustup": {verbs: "run", skip: 1}, "composer": {verbs: "exec", vals: "-d --working-dir"}, "opam": {verbs: "exec", vals: "--switch --root"}, "cabal": {verbs: "exec"}, "stack": {verbs: "exec"}, "dotenv": {vals: "-e -f -v", skip: 1}, "dotenvx": {verbs: "run", dash: true}, "cross-env": {}, "corepack": {},
	"mise": {sh: "exec x en", verbs: "exec x", vals: "-C --cd -E --env -j --jobs", c: "-c --command", dash: true}, "rtx": {verbs: "exec x", dash: true}, "asdf": {verbs: "exec"}, "pyenv": {verbs: "exec"}, "rbenv": {verbs: "exec"}, "nodenv": {verbs: "exec"}, "goenv": {verbs: "exec"}, "jenv": {verbs: "exec"}, "volta": {verbs: "run", vals: "--node --npm --yarn --pnpm"}, "fnm": {verbs: "exec", vals: "--using"}, "nvm": {verbs: "exec run", skip: 1},
	"nix": {sh: "develop shell", none: true, exec: "-c --command"}, "nix-shell": {sh: "always", none: true, c: "--run --command"}, "devbox": {sh: "shell", verbs: "run"}, "guix": {sh: "shell environment", verbs: "shell environment", dash: true}, "just": {none: true, exec: "-c --command", c: "--shell"}, "nodemon": {none: true, c: "-x --exec"}, "bazel": {none: true, c: "--run_under"}, "bazelisk": {none: true, c: "--run_under"}, "go": {none: true, c: "-exec --exec -toolexec --toolexec -vettool --vettool"}, "pwsh": {none: true, c: "-c -Command --command"},
	"op": {verbs: "run", dash: true}, "doppler": {verbs: "run", dash: true, c: "--command"}, "chamber": {verbs: "exec", dash: true, skip: 1}, "aws-vault": {sh: "exec", verbs: "exec", dash: true, skip: 1}, "infisical": {verbs: "run", dash: true, c: "--command"}, "sops": {verbs: "exec-env exec-file", skip: 1}, "ip": {verbs: "exec", ahead: "netns vrf", skip: 1, vals: "-n -netns"}, "wsl": {none: true, exec: "-e --exec --"}, "flatpak": {none: true, c: "--command"},
	// Other hosts and containers.
	"docker": container, "podman": container, "nerdctl": container, "kubectl": {apart: true, verbs: "exec run debug", vals: "-n --namespace -c --container --context --kubeconfig --image", dash: true, skip: 1}, "oc": {apart: true, verbs: "exec run rsh debug", vals: "-n --namespace -c --container", dash: true, skip: 1}, "lerna": {verbs: "exec", dash: true}, "snap": {verbs: "run", c: "-c"}, "java": {none: true, c: "-XX:OnError -XX:OnOutOfMemoryError"}, "yt-dlp": {none: true, c: "--exec --exec-before-download --netrc-cmd --downloader"}, "lxc": {sh: "shell", apart: true, verbs: "exec", dash: true, skip: 1}, "vagrant": {sh: "ssh", none: true, c: "-c --command"}, "gcloud": {none: true, c: "--command"}, "ansible": {none: true, c: "-a --args"},
	"ssh": {sh: "always", host: true, vals: sshVals}, "autossh": {sh: "always", host: true, vals: sshVals + " -M"}, "mosh": {sh: "always", host: true, vals: "-p --port", c: "--ssh --server"}, "scp": {none: true, c: "-S -D"}, "sftp": {none: true, c: "-S -D"}, "rsync": {none: true, c: "-e --rsh --rsync-path"}, "sshpass": {vals: "-p -f -d -P"},
	"machinectl": {sh: "shell login", apart: true, verbs: "shell", vals: "-E --setenv --uid -H --host -M --machine", skip: 1}, "distrobox": {sh: "enter", verbs: "enter", vals: "-n --name -a --additional-flags", dash: true, skip: 1}, "toolbox": {sh: "enter", verbs: "run", vals: "-c --container -d --distro -r --release"}, "crictl": {apart: true, verbs: "exec", vals: "-r --runtime-endpoint --timeout", skip: 1}, "ctr": {apart: true, verbs: "exec", ahead: "task tasks t", vals: "-n --namespace -a --address --exec-id --cwd --user", skip: 1}, "heroku": {apart: true, verbs: "run run:detached run:inside local:run", vals: "-a --app -s --size"}, "fly": {apart: true, none: true, c: "-C --command"}, "flyctl": {apart: true, none: true, c: "-C --command"},
	// Flags that name a command.
	"tar": {none: true, c: "-I -F --use-compress-program --to-command --info-script --new-volume-script --rsh-command --rmt-command"}, "split": {none: true, c: "--filter"}, "sort": {none: true, c: "--compress-program"}, "rg": {none: true, c: "--pre --hostname-bin"}, "diff3": {none: true, c: "--diff-program"}, "zip": {none: true, c: "-TT --unzip-command"}, "man": {none: true, c: "-P -H --pager --html"}, "dpkg": {none: true, c: "--pre-invoke --post-invoke"}, "wget": {none: true, c: "--use-askpass"}, "cpio": {none: true, c: "--rsh-command"}, "nc": {none: true, c: "-e -c --exec --sh-exec"}, "ncat": {none: true, c: "-e -c --exec --sh-exec"}, "install": {none: true, c: "--strip-program"}, "fc": {none: true, c: "-e"}, "launchctl": {verbs: "submit", dash: true}, "helm": {none: true, c: "--post-renderer"}, "svn": {none: true, c: "--diff-cmd --diff3-cmd --editor-cmd"}, "hg": {none: true, c: "-e --ssh --remotecmd -c --command --tool"}, "gpg": {none: true, c: "--photo-viewer --agent-program --dirmngr-program --keyboxd-program"}, "tcpdump": {none: true, c: "-z"}, "nano": {none: true, c: "-s --speller"}, "pip": {none: true, any: "--python"}, "asciinema": {none: true, c: "-c --command"}, "fzf": {none: true, c: "--preview"}, "bat": {none: true, c: "--pager"}, "delta": {none: true, c: "--pager"}, "iptables": {none: true, c: "--modprobe -M"}, "enable": {none: true, c: "-f"},
	"rpm": {none: true, c: "--pipe"}, "dlv": {verbs: "exec"},
	"aria2c": {none: true, c: "--on-download-complete --on-download-start --on-download-stop --on-download-error --on-download-pause --on-bt-download-complete"},
}

// startsShell reports whether the launcher starts a shell if it has no command.
func (l *launcher) startsShell(words []arg) bool {
	return l.sh == "always" || l.sh != "" && slices.ContainsFunc(operandsAt(words, &global{vals: l.vals}, false), func(at int) bool { return has(l.sh, words[at].val) })
}

// launches lists the commands that a launcher runs. Their reason against read-only
// is stored, for the case that the launcher's own words give no reason.
func (w *walker) launches(name string, args []arg, c context) {
	before := w.reason
	reads, writes, blind := len(w.a.Reads), len(w.a.Writes), w.unknownWrites
	if name == "git" {
		w.gitRuns(args, c)
	} else {
		w.launch(name, args, c)
	}
	if launchers[name].apart {
		w.a.Reads, w.a.Writes, w.unknownWrites = w.a.Reads[:reads], w.a.Writes[:writes], blind
	}
	if w.reason != before {
		if w.launched == "" {
			w.launched = w.reason
		}
		w.reason = before
	}
}

func (w *walker) launch(name string, args []arg, c context) {
	for i := 1; i < len(args) && launchers[name].any != ""; i++ {
		if text, used, is := commandFlag(launchers[name].any, args[i].text, args[i+1:]); is && strings.HasPrefix(args[i].text, "--") {
			w.reparse(text, args[i+used].lit, c)
		}
	}
	switch name {
	case "cmake":
		w.cmakeRuns(args, c)
	case "cargo":
		for i := 2; i < len(args) && args[1].val == "watch"; i++ {
			if text, used, is := commandFlag("-s --shell", args[i].text, args[i+1:]); is {
				w.reparse(text, args[i+used].lit, c)
			}
		}
	case "mix": // mix do compile + cmd COMMAND
		if at := slices.IndexFunc(args, func(a arg) bool { return a.val == "cmd" }); at > 0 {
			w.inner(args[at+1:], c)
		}
	case "npm": // npm explore PACKAGE -- COMMAND
		if at := slices.IndexFunc(args, func(a arg) bool { return a.val == "--" }); at > 2 && args[1].val == "explore" {
			w.inner(args[at+1:], c)
		}
	case "nix": // nix run FLAKE#PROGRAM -- WORDS
		for i := 2; i < len(args) && args[1].val == "run"; i++ {
			if _, program, ok := strings.Cut(args[i].text, "#"); ok {
				rest := args[i+1:]
				if len(rest) > 0 && rest[0].val == "--" {
					rest = rest[1:]
				}
				w.inner(append([]arg{{text: program, val: program, lead: program, lit: args[i].lit}}, rest...), c)
				break
			}
		}
	case "pwsh", "powershell":
		for i := 1; i < len(args); i++ {
			if v := strings.ToLower(args[i].val); v == "-ec" || len(v) > 1 && strings.HasPrefix("-encodedcommand", v) && v != "-" {
				w.setIncomplete("what " + name + " runs is encoded")
			}
		}
	case "set":
		if words := texts(args[1:]); flagged(words, "-H") || slices.Contains(words, "histexpand") && !strings.HasPrefix(words[0], "+") {
			w.setIncomplete("with histexpand, ! runs commands of the history")
		}
	case "fc":
		if !flagged(texts(args[1:]), "-l") {
			w.setIncomplete("fc runs commands of the history")
		}
	case "sed", "gsed":
		w.sedRuns(args, c)
		return
	case "make", "gmake":
		w.makeRuns(args, c)
		return
	case "tar", "gtar", "bsdtar":
		name = "tar"
		w.tarRuns(args, c)
	}
	l, ok := launchers[name]
	if !ok {
		return
	}
	listed := len(w.a.Commands)
	defer func() {
		bare := len(w.a.Commands) == listed || l.dash && !slices.ContainsFunc(args, func(a arg) bool { return a.val == "--" })
		if bare && l.startsShell(args[1:]) {
			if l.host && c.input.none() {
				return
			}
			if !w.typing(c) {
				c.input = input{} // a rule may allow the launcher
			}
			w.startsShell(name, c)
		}
	}()
	behind := l.verbs == "" // whether a verb has been read
	doubt := false          // whether the previous word is a flag that may take this one
	skip, operands := l.skip, 0
	for i := 1; i < len(args); i++ {
		a := &args[i]
		if !a.lit && l.host && operands == 0 && a.lead == "" { // a host, or flags and then a host
			w.text2(args[i+1:], c)
			w.inner(args[min(i+2, len(args)):], c)
			return
		}
		if !a.lit && !l.none && (a.lead == "" || a.lead[0] == '-') {
			w.listPossible(name, args[i:], c)
			return
		}
		if v := a.text; len(v) > 1 && v[0] == '-' {
			flag, _, eq := strings.Cut(v, "=")
			text, used, is := commandFlag(l.c, v, args[i+1:])
			switch {
			case v == "--":
				if behind && !l.none && !l.host {
					w.inner(args[i+1:], c)
					return
				}
				doubt = false
			case is:
				w.reparse(text, args[i+used].lit, c)
				i += used
			case has(l.exec, v):
				w.inner(args[i+1:], c)
				return
			case l.host || name == "scp" || name == "sftp":
				i += w.sshFlag(args[i:], c)
			case l.none || eq && v[1] == '-':
				doubt = false
			default:
				if doubt = !has(l.vals, flag); !doubt {
					i++
				}
			}
			continue
		}
		switch {
		case l.none:
		case l.host:
			if operands++; operands == 2 {
				w.text2(args[i:], c)
				return
			}
		case !behind && a.lit && has(l.verbs, a.val):
			behind, doubt = true, false
		case !behind:
			if !doubt && !has(l.ahead, a.val) && !has(l.ahead, args[i-1].val) {
				if l.own != "" && a.lit && !has(l.own, a.val) {
					w.inner(args[i:], c)
				}
				return // another subcommand
			}
			doubt = false
		case l.dash && slices.ContainsFunc(args[i:], func(a arg) bool { return a.val == "--" }):
		case name == "cross-env" && strings.Contains(a.text, "="):
		default:
			w.inner(args[i:], c)
			if operands++; !doubt && skip == 0 || operands > 4 {
				return
			}
			// It may have been the value of the previous flag, or a version.
			if !doubt {
				skip--
			}
			doubt = false
		}
	}
}

// commandFlag reports whether v is a flag whose value is a command, and returns the
// command and the number of further words used.
func commandFlag(flags, v string, rest []arg) (text string, used int, is bool) {
	next := func() (string, int, bool) {
		if len(rest) == 0 {
			return "", 0, false
		}
		return rest[0].text, 1, true
	}
	if strings.HasPrefix(v, "--") {
		name, value, eq := strings.Cut(v, "=")
		for _, f := range strings.Fields(flags) {
			if len(name) < 4 && name != f || !strings.HasPrefix(f, name) {
				continue
			}
			if eq {
				return value, 0, true
			}
			return next()
		}
		return "", 0, false
	}
	if has(flags, v) {
		return next()
	}
	if name, value, eq := strings.Cut(v, "="); eq && len(name) > 2 && has(flags, name) { // -toolexec=x
		return value, 0, true
	}
	if at := shortAt(flags, v); at == len(v)-1 && at > 0 {
		return next()
	} else if at > 0 {
		return v[at+1:], 0, true
	}
	return "", 0, false
}

// sshFlag parses a flag of ssh, scp or sftp, and returns the number of further
// words it takes.
func (w *walker) sshFlag(args []arg, c context) int {
	v := args[0].text
	for i := 1; i < len(v); i++ {
		if !has(sshVals, "-"+v[i:i+1]) {
			continue
		}
		value, used := literal(v[i+1:]), 0
		if value.lit = args[0].lit; value.text == "" && len(args) > 1 {
			value, used = args[1], 1
		}
		w.sshOption(value.text, value.lit, v[i] == 'o', c)
		return used
	}
	return 0
}

// sshOption lists the command that an option of ssh names.
func (w *walker) sshOption(text string, lit, is bool, c context) {
	if !is {
		return
	}
	at := strings.IndexAny(text, "= \t")
	if at < 0 || !has("proxycommand localcommand knownhostscommand remotecommand", strings.ToLower(text[:at])) {
		return
	}
	if text = strings.Trim(text[at:], "= \t"); text != "none" {
		w.reparse(text, lit, c)
	}
}

// tarRuns lists the commands of --checkpoint-action=exec, and those that are values
// of flags in the old form without a dash.
func (w *walker) tarRuns(args []arg, c context) {
	for i := 1; i < len(args); i++ {
		v := args[i].text
		name, value, eq := strings.Cut(v, "=")
		if len(name) > len("--checkpoint") && strings.HasPrefix("--checkpoint-action", name) {
			lit := args[i].lit
			if !eq && i+1 < len(args) {
				value, lit = args[i+1].text, lit && args[i+1].lit
			}
			if cmd, ok := strings.CutPrefix(value, "exec="); ok {
				w.reparse(cmd, lit, c)
			}
		}
	}
	if len(args) < 2 || strings.HasPrefix(args[1].text, "-") {
		return
	}
	at := 2
	for _, letter := range args[1].text {
		if !strings.ContainsRune("bfgCFHIKLNTVX", letter) {
			continue
		}
		if at < len(args) && (letter == 'I' || letter == 'F') {
			w.reparse(args[at].text, args[at].lit, c)
		}
		at++
	}
}

// makeRuns lists the shell that make is given. The text of a makefile may contain
// anything.
func (w *walker) makeRuns(args []arg, c context) {
	for i := 1; i < len(args); i++ {
		v := args[i].text
		for _, assign := range []string{"SHELL=", "SHELL:=", "SHELL::=", "SHELL?=", "SHELL+=", "SHELL!=", "MAKE=", ".SHELLFLAGS="} {
			if cmd, ok := strings.CutPrefix(v, assign); ok {
				if cmd = strings.TrimLeft(cmd, "- "); has(shells, base(cmd)) {
					continue // the word names the shell, not the command it runs
				}
				w.reparse(cmd, args[i].lit, c)
			}
		}
		name, text, eq := strings.Cut(v, "=")
		if has("-f --file --makefile", args[i-1].val) && (!args[i].lit || v == "-" || isDevice(v)) || has("--file --makefile", name) && (!args[i].lit || text == "-" || isDevice(text)) || strings.HasPrefix(v, "-f") && (v == "-f-" || isDevice(v[2:])) {
			w.setIncomplete("make reads its commands from its input")
		}
		if key := strings.TrimRight(name, ":?+"); eq && isProgram(key) && key != "SHELL" && key != "MAKE" {
			w.variable(key, text, args[i].lit, c)
		}
		switch {
		case len(name) > 3 && strings.HasPrefix("--eval", name):
			if !eq && i+1 < len(args) {
				text = args[i+1].text
			}
		case strings.HasPrefix(v, "-E") && len(v) > 2:
			text = v[2:]
		case v == "-E" && i+1 < len(args):
			text = args[i+1].text
		case strings.Contains(v, "$(shell ") || strings.Contains(v, "${shell ") || strings.Contains(v, "!="):
			text = strings.Replace(v, "!=", "shell ", 1)
		default:
			continue
		}
		w.unresolve("what make runs is not known")
		if _, cmd, ok := strings.Cut(text, "shell "); ok {
			w.reparse(strings.TrimRight(cmd, ")}"), true, c)
		}
	}
}

// cmakeRuns lists the command that cmake -E runs.
func (w *walker) cmakeRuns(args []arg, c context) {
	if len(args) < 4 || args[1].val != "-E" {
		return
	}
	switch args[2].val {
	case "env":
		w.skipWrapper("env", wrapper{env: true, vals: "--modify"}, args[2:], c)
	case "time":
		w.inner(args[3:], c)
	case "chdir":
		w.inner(args[4:], c)
	}
}
