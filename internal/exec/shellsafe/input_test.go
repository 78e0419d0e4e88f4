package shellsafe

import (
	"slices"
	"testing"
)

// curlDecision returns the decision of a rule that denies curl.
func curlDecision(a *Analysis) string {
	match := prefixRule("Bash(curl:*)")
	got := decide("deny", "Bash(curl:*)", a)
	if got == "not denied" && (a.Incomplete != "" || slices.ContainsFunc(a.Commands, func(c Command) bool { return slices.ContainsFunc(c.Possible, match) })) {
		return "ask"
	}
	return got
}

// TestShellsInside tests programs that start a shell, run one of their words, or have an
// escape to a shell, against a rule that denies curl.
func TestShellsInside(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		// Builtins.
		{"jobs -x curl x", "deny"}, {"jobs -lx curl x", "deny"}, {"builtin jobs -x curl x", "deny"}, {"command jobs -x curl x", "deny"}, {"jobs -l", "not denied"}, {"jobs", "not denied"},
		{`bind -x '"q":curl x'`, "deny"},
		// Wrappers that are a shell without a command.
		{"script -q /dev/null <<< 'curl x'", "ask"}, {"echo 'curl x' | script -q /dev/null", "ask"}, {"script", "ask"}, {"script -qc 'curl x' /dev/null", "deny"}, {"script -q /dev/null -- curl x", "deny"},
		{"unshare", "ask"}, {"unshare -r", "ask"}, {"unshare -r curl x", "deny"}, {"unshare -r ls", "not denied"}, {"su", "ask"}, {"su - x", "ask"}, {"su -c 'curl x' u", "deny"}, {"runuser -u x", "ask"}, {"runuser x", "ask"}, {"runuser - x", "ask"}, {"runuser -u x -- curl x", "deny"}, {"sg g", "ask"}, {"sg g 'curl x'", "deny"}, {"newgrp", "ask"}, {"newgrp docker <<< 'curl x'", "ask"},
		{"nsenter -t 1 -m", "ask"}, {"nsenter -t 1 curl x", "deny"}, {"chroot .", "ask"}, {"chroot . curl x", "deny"}, {"dbus-run-session", "ask"}, {"dbus-run-session -- curl x", "deny"}, {"systemd-run -t", "ask"}, {"systemd-run --shell", "ask"}, {"tmux", "ask"}, {"tmux new -d", "ask"}, {"tmux ls", "not denied"}, {"tmux new -d ls", "not denied"}, {"tmux new -ds x", "ask"}, {"tmux new -d -s x", "ask"}, {"tmux new -d curl x", "deny"}, {"screen", "ask"}, {"fakeroot", "ask"}, {"fakeroot < x", "ask"}, {"fakeroot make", "not denied"},
		{"setarch x86_64", "ask"}, {"linux64", "ask"}, {"xterm", "ask"}, {"sudo -s", "ask"}, {"sudo -i", "ask"}, {"sudo -l", "not denied"}, {"sudo su", "ask"}, {"firejail", "ask"}, {"proot", "ask"}, {"pkexec", "ask"}, {"capsh --", "ask"}, {"schroot", "ask"}, {"login x", "ask"}, {"dvtm", "ask"}, {"ttyrec x", "ask"}, {"asciinema rec x", "ask"}, {"asciinema play x", "not denied"},
		{"poetry shell", "ask"}, {"pipenv shell", "ask"}, {"nix develop", "ask"}, {"nix develop -c curl x", "deny"}, {"nix-shell", "ask"}, {"nix-shell --run ls", "not denied"}, {"guix shell x", "ask"}, {"guix shell x -- ls", "not denied"}, {"npx", "ask"}, {"npm exec", "ask"}, {"npm exec x", "not denied"}, {"aws-vault exec p", "ask"}, {"aws-vault exec p -- ls", "not denied"}, {"ssh h < x", "ask"}, {"ssh h <<< 'curl x'", "ask"}, {"ssh h", "not denied"}, {"ssh h ls < x", "not denied"},
		// Programs with an escape that their input names.
		{"gdb <<< 'shell curl x'", "deny"}, {"gdb < x", "ask"}, {"ed x <<< '!curl x'", "deny"}, {"ed x <<< ',p'", "not denied"}, {"printf '!curl x\\n' | ed x", "deny"}, {"printf ',p\\nq\\n' | ed x", "not denied"}, {"ed x < y", "ask"}, {"ed x <<EOF\nr !curl x\nEOF", "deny"}, {"ed x <<EOF\n$y\nEOF", "ask"}, {"{ ed x; } < y", "ask"}, {"exec < y; ed x", "ask"}, {"f() { ed x; }; f < y", "ask"}, {"while read l; do ed x; done < y", "ask"}, {"sh -c 'ed x' < y", "ask"}, {"timeout 5 ed x < y", "ask"}, {"echo $(ed x) < y", "not denied"}, {"ls | xargs ed", "not denied"}, {"ls | xargs -o vim", "ask"}, {"ed x < /dev/null", "not denied"},
		{"ex -s x <<< '!curl x'", "deny"}, {"vim -es x < y", "ask"}, {"vi -c ':!curl x' f", "deny"}, {"emacs --batch --eval '(shell-command \"curl x\")'", "deny"},
		{"sqlite3 <<< '.shell curl x'", "deny"}, {"sqlite3 x.db < y.sql", "ask"}, {"sqlite3 x.db <<< 'select 1;'", "not denied"}, {"sqlite3 x.db 'select 1'", "not denied"}, {"sqlite3 x.db <<< '.sy curl x'", "ask"}, {"sqlite3 x.db <<< '.schema'", "not denied"}, {"sqlite3 x.db <<< '.read y'", "ask"}, {"psql <<< '\\! curl x'", "deny"}, {"psql -c 'select 1'", "not denied"}, {"psql <<< 'select 1'", "not denied"}, {"psql < y", "ask"}, {"mysql d < y", "ask"}, {"mysql <<< 'system curl x'", "deny"}, {"mysql <<< 'select 1'", "not denied"}, {"duckdb <<< '.shell curl x'", "deny"}, {"sqlplus / <<< 'host curl x'", "deny"},
		{"ftp <<< '!curl x'", "deny"}, {"sftp h <<< '!curl x'", "deny"}, {"sftp h <<< 'ls'", "not denied"}, {"smbclient s <<< '!curl x'", "deny"}, {"lftp < x", "ask"}, {"lftp -c '!curl x'", "deny"}, {"telnet h < x", "ask"}, {"expect <<< 'spawn curl x'", "deny"}, {"expect -c 'spawn curl x'", "deny"}, {"tclsh <<< 'exec curl x'", "deny"}, {"tclsh x.tcl", "not denied"}, {"gnuplot -e '!curl x'", "deny"}, {"gnuplot < x", "ask"}, {"octave --eval 'system(\"curl x\")'", "deny"}, {"R -e 'system(\"curl x\")'", "deny"}, {"Rscript -e 'system(\"curl x\")'", "deny"}, {"ghci -e ':!curl x'", "deny"}, {"m4 <<< 'syscmd(curl x)'", "deny"}, {"dc -e '!curl x'", "deny"}, {"rpm --eval '%(curl x)'", "deny"}, {"mail x < y", "ask"}, {"echo hello | mail -s x y", "not denied"}, {"nmap --interactive <<< '!curl x'", "deny"},
		{"less x", "not denied"}, {"ls | less", "not denied"}, {"script -qc 'less x' /dev/null <<< '!curl x'", "ask"}, {"unbuffer -p less x < y", "ask"},
		// Wrappers of all kinds.
		{"foreman run curl x", "ask"}, {"honcho run curl x", "ask"}, {"teller run -- curl x", "ask"}, {"onchange 'x' -- curl x", "deny"}, {"watchman-make -p x -r 'curl x'", "deny"}, {"npm-run-all 'curl x'", "deny"}, {"chokidar x -c 'curl x'", "deny"}, {"unheard-of curl x", "ask"}, {"unheard-of --exec 'curl x'", "ask"}, {"unheard-of --exec='curl x'", "ask"}, {"unheard-of --run=curl", "ask"}, {"unheard-of a -- env B=1 curl x", "ask"}, {"unheard-of 'cd a && curl x'", "ask"}, {"./tool.sh curl x", "ask"}, {"env unheard-of curl x", "ask"}, {"unheard-of a b", "not denied"}, {"brew install curl", "not denied"}, {"pytest -k curl", "not denied"}, {"ccache curl x", "deny"}, {"mpirun -n 2 curl x", "deny"}, {"systemd-cat curl x", "deny"}, {"bear -- curl x", "deny"}, {"srun curl x", "deny"},
		// Flags and variables that name a program.
		{"flock l -c 'curl x'", "deny"}, {"man -P 'curl x' ls", "deny"}, {"git -c core.pager='curl x' log", "deny"}, {"GIT_PAGER='curl x' git log", "deny"}, {"PAGER='curl x' man ls", "deny"}, {"EDITOR='curl x' git commit", "deny"}, {"LESSOPEN='|curl x' less y", "deny"}, {"env -S 'curl x'", "deny"}, {"busybox sh -c 'curl x'", "deny"}, {"setpriv --reuid 1 curl x", "deny"}, {"setarch x86_64 curl x", "deny"}, {"prlimit --nofile=5 curl x", "deny"}, {"taskset 1 curl x", "deny"}, {"ionice -c3 curl x", "deny"}, {"chrt 1 curl x", "deny"}, {"watch curl x", "deny"}, {"entr curl x", "deny"}, {"parallel curl ::: x", "deny"}, {"rlwrap curl x", "deny"}, {"unbuffer curl x", "deny"}, {"make SHELL='curl x'", "deny"}, {"make --eval='$(shell curl x)'", "deny"}, {"npm exec -c 'curl x'", "deny"}, {"npx -c 'curl x'", "deny"}, {"yarn exec curl x", "deny"}, {"pnpm exec curl x", "deny"}, {"pnpm -c exec 'curl x'", "deny"}, {"pnpm dlx curl x", "deny"}, {"poetry run curl x", "deny"}, {"uv run curl x", "deny"}, {"pipenv run curl x", "deny"}, {"ssh -o ProxyCommand='curl x' h", "deny"}, {"rsync -e 'curl x' a b:c", "deny"}, {"tar --to-command='curl x' -xf y", "deny"}, {"tar -cf y --checkpoint-action=exec='curl x' z", "deny"}, {"tar -I 'curl x' -cf y z", "deny"}, {"zip y z -T -TT 'curl x'", "deny"}, {"sort --compress-program=curl x", "deny"}, {"split --filter='curl x' y", "deny"}, {"find . -ok curl x \\;", "deny"}, {"awk 'BEGIN{system(\"curl x\")}'", "deny"}, {"git bisect run curl x", "deny"},
	} {
		if got := curlDecision(Analyse(c.command, ws)); got != c.want {
			a := Analyse(c.command, ws)
			t.Errorf("%s: %s, want %s (%q, %q)", c.command, got, c.want, a.Unresolved, a.Incomplete)
		}
	}
}

// TestOpenInput tests programs whose input is only known later.
func TestOpenInput(t *testing.T) {
	o := ws
	o.Input = true
	for command, want := range map[string]string{
		"less a.txt": "ask", "man ls": "ask", "vim x": "ask", "nano x": "ask", "sqlite3 x.db": "ask", "ftp h": "ask", "script -q /dev/null": "ask", "fakeroot": "ask", "git log": "ask", "sh": "ask", "ssh h": "ask",
		"cat": "not denied", "ls": "not denied", "grep x y": "not denied", "less --version": "not denied", "ls | less": "ask", "make": "not denied", "python3 x.py": "not denied",
	} {
		if got := curlDecision(Analyse(command, o)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// TestTyped tests texts that are typed into running commands, against a rule that denies curl.
func TestTyped(t *testing.T) {
	for _, c := range []struct {
		command, text string
		tty, part     bool
		want          string
	}{
		{command: "bash", text: "curl x\n", want: "deny"}, {command: "bash", text: "ls\n", want: "not denied"}, {command: "bash", text: "cd a && sh -c 'curl x'\n", want: "deny"}, {command: "bash", text: "cur", part: true, want: "ask"}, {command: "bash", text: "$k x\n", want: "ask"}, {command: "bash", text: "cat <<E\n", want: "ask"}, {command: "bash", text: "", tty: true, part: true, want: "ask"}, {command: "bash", text: "", want: "not denied"},
		{command: "script -q /dev/null", text: "curl x\n", want: "deny"}, {command: "script -q /dev/null", text: "ls\n", want: "not denied"}, {command: "fakeroot", text: "curl x\n", tty: true, want: "deny"}, {command: "sudo -s", text: "curl x\n", want: "deny"}, {command: "ssh h", text: "curl x\n", want: "deny"}, {command: "docker exec -i c sh", text: "curl x\n", want: "deny"}, {command: "cd a; env B=1 bash -l", text: "curl x\n", want: "deny"}, {command: "zsh", text: "functions[a]='curl x'\n", want: "ask"}, {command: "zsh", text: "ls\n", want: "not denied"}, {command: "cat | sh", text: "ls\n", want: "ask"},
		{command: "psql", text: "select 1;\n", want: "not denied"}, {command: "psql", text: "\\! curl x\n", tty: true, want: "deny"}, {command: "sqlite3 x.db", text: ".shell curl x\n", want: "deny"}, {command: "sqlite3 x.db", text: ".tables\n", tty: true, want: "not denied"}, {command: "ed f", text: "!curl x\n", want: "deny"}, {command: "less a", text: "!curl x\n", tty: true, want: "ask"}, {command: "less a", text: "q", tty: true, want: "not denied"}, {command: "git add -p", text: "y\nn\n", tty: true, want: "not denied"}, {command: "vim a", text: ":!curl x\n", tty: true, want: "deny"}, {command: "gdb a", text: "run\n", want: "ask"},
		{command: "python3 -i", text: "curl x\n", want: "nothing"}, {command: "cat", text: "curl x\n", want: "nothing"}, {command: "npm run dev", text: "curl x\n", tty: true, want: "nothing"}, {command: "./run.sh", text: "curl x\n", want: "nothing"}, {command: "bash run.sh", text: "curl x\n", want: "nothing"}, {command: "$x", text: "ls\n", want: "ask"},
	} {
		got := "nothing"
		if a := Typed(c.command, c.text, c.tty, !c.part, ws); a != nil {
			got = curlDecision(a)
		}
		if got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.command, c.text, got, c.want)
		}
	}
}

// TestWideFields tests formats that write much more than their input has.
func TestWideFields(t *testing.T) {
	for command, want := range map[string]bool{
		"seq -f '%.99999999f' 1": false, "seq --format=%99999999f 1": false, "seq -f %5.99999999f 1": false, "seq -f '%-099999f' 1": false, "seq -f %.3f 1": true, "printf %99999d 1": false, "printf '%s %9999999s' a b": false, "printf %5d 1": true,
		"stat -c %99999999n a.txt": false, "stat --printf=%0100000s a.txt": false, "stat -c %n a.txt": true, "date +%99999999Y": false, "date +%_99999Y": false, "date +%Y": true, "find . -printf %99999999p": false, "find . -printf %p": true,
		"git log --format='%<(99999999)%s'": false, "git log --format='%w(99999,99999)%s'": true, "git log --format=%s": true, "ps -o pid:99999999": false, "ps -o pid:5": true, "nl -w 99999999 a.txt": false, "nl -w99999 a.txt": false, "nl -w 5 a.txt": true, "expand -t 99999999 a.txt": false, "expand -t 4 a.txt": true,
		"head -c 100000 a.txt": true, "grep 10:30:12345 a.txt": true, "sed -n 10000,20000p a.txt": true,
	} {
		if a := Analyse(command, ws); a.ReadOnly != want {
			t.Errorf("%s: read-only %v (%s), want %v", command, a.ReadOnly, a.Reason, want)
		}
	}
}
