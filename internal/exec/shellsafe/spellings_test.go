package shellsafe

import "testing"

// TestLanguages tests commands in texts that bash does not read as the program does, against a
// rule that denies curl.
func TestLanguages(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		// Shells with a language of their own.
		{`zsh -c 'functions[a]="curl x"; a'`, "ask"}, {`zsh -c 'aliases[a]="curl x"; eval a'`, "ask"}, {`zsh -c 'commands[ls]=/usr/bin/curl; ls x'`, "ask"}, {`zsh -c 'hash ls=/usr/bin/curl; ls x'`, "ask"}, {`zsh -c 'e="curl x"; $=e'`, "ask"}, {`zsh -c 'a="\$(curl x)"; print -P "$a"'`, "ask"}, {`zsh -c 'repeat 3 curl x'`, "ask"}, {`zsh -c 'noglob curl x'`, "ask"},
		{`tcsh -c 'alias a curl; a x'`, "deny"}, {`rc -c '{curl x}'`, "ask"}, {`rc -c 'fn a {curl x}; a'`, "ask"}, {`nu -c '^curl x'`, "deny"}, {`nu --commands 'curl x'`, "deny"}, {`nu -e 'curl x'`, "deny"}, {`fish -c 'echo (curl x)'`, "ask"},
		{`zsh -c 'npm test'`, "not denied"}, {`zsh -ic 'cd "$HOME" && npm test | tail -5'`, "not denied"}, {`fish -c 'npm test; and echo ok'`, "not denied"}, {`bash -c 'a=(1 2); echo ${a[0]}'`, "not denied"}, {"alias ll='ls -l'", "not denied"}, {"hash -r", "not denied"},
		// Programs of awk.
		{`echo 'curl x' | awk '{system($0)}'`, "ask"}, {`echo 'curl x' | awk '{print | $0}'`, "ask"}, {`awk '{c = $1; c | getline x}' f`, "ask"}, {`awk '{ print | c }' c='curl x' f`, "ask"}, {`awk -v c='curl x' 'BEGIN{system(c)}'`, "ask"}, {`awk 'BEGIN { system("cu" "rl x") }'`, "ask"}, {`awk 'BEGIN { "cu" "rl x" | getline }'`, "ask"}, {`awk '{print | "curl x"}' f`, "deny"}, {`awk 'BEGIN{"curl x"|getline a}'`, "deny"}, {`gawk -e 'BEGIN{system("curl x")}'`, "deny"}, {`gawk 'BEGIN{print |& c}'`, "ask"}, {`awk "$p" f`, "ask"}, {`awk "BEGIN{system(\"$c\")}"`, "ask"}, {`awk "NR==$a || NR==$b" f`, "not denied"}, {`busybox awk '{system($1)}'`, "ask"}, {`awk '/[/|]/ {system($2)}' f`, "ask"}, {`awk '{x = 4 / 2; system(y)}' f`, "ask"},
		{`awk '{print $2}' f`, "not denied"}, {`awk -F'|' '{print $1}' f`, "not denied"}, {`awk -F '|' -v OFS='|' '{print $1, $2}' f`, "not denied"}, {`awk '/a|b/ {n++} END {print n}' f`, "not denied"}, {`awk '$1 ~ /x|y/ || !/[/|]/ {print "a|b"}' f`, "not denied"}, {`awk '{print $1 | "sort -rn"}' f`, "not denied"}, {`awk 'BEGIN{while (("date" | getline d) > 0) print d}'`, "not denied"}, {`awk '{print system_time}' f`, "not denied"}, {`awk "NR==$n" f`, "not denied"}, {`awk -f p.awk f`, "not denied"}, {`awk '{print "# | x"} # a | b'`, "not denied"},
		// Programs of a program, on its input.
		{"sed -f - f <<< '1e curl x'", "deny"}, {"sed -f /dev/stdin f <<< '1e curl x'", "deny"}, {"sed --file=- f < g", "ask"}, {"sed -f <(echo '1e curl x') f", "ask"}, {"sed -f- f <<< '1p'", "not denied"}, {"awk -f - <<< 'BEGIN{system(\"curl x\")}'", "deny"}, {"awk -f /dev/stdin < p", "ask"}, {"gawk -f <(cat p)", "ask"}, {"vim -S <(echo '!curl x')", "ask"}, {"gdb -x <(echo shell curl x)", "ask"}, {"gdb -x /dev/fd/3 3<<< 'shell curl x'", "ask"}, {"cmake -P <(cat x)", "ask"}, {"cmake -P /dev/stdin <<< 'x'", "ask"}, {"expect <(cat x)", "ask"}, {"ssh -F <(cat x) h", "ask"}, {"ip -b - <<< 'netns exec n curl x'", "deny"}, {"ip -batch - < f", "ask"}, {"ip -force -b -", "not denied"}, {"tc -b - < f", "ask"}, {"ip -b - <<< 'link show'", "not denied"},
		{"sed -f s.sed f", "not denied"}, {"cat f | sed -e 's/a/b/'", "not denied"}, {"diff <(ls a) <(ls b)", "not denied"}, {"cmake -P x.cmake", "not denied"}, {"sed -n 1p - < f", "not denied"},
		// Words that name a command.
		{"rpm --pipe 'curl x' -qa", "deny"}, {`rpm -E '%{lua:os.execute("curl x")}'`, "ask"}, {"yt-dlp --exec before_dl:'curl x' u", "deny"}, {"mysql --pager='curl x' -e 'select 1'", "deny"}, {"psql -c 'COPY t TO PROGRAM $$curl x$$'", "deny"}, {"psql -c 'copy t to PROGRAM $a$curl x$a$'", "ask"}, {"gradle -Dorg.gradle.jvmargs=-XX:OnOutOfMemoryError='curl x' t", "deny"}, {"mix cmd curl x", "deny"}, {"mix do cmd curl x", "deny"}, {"mix do deps.get + cmd curl x", "deny"}, {"mix test curl", "not denied"}, {"lldb -- curl x", "deny"}, {"lldb -b -o run -- curl x", "deny"}, {"rust-gdb --args curl x", "deny"}, {"dlv exec curl -- x", "deny"}, {"tmux send -t 0 'cur' 'l x' Enter", "deny"}, {"tmux send-keys -t a 'ls' Enter curl Space x C-m", "deny"}, {"tmux send-keys -H 63 75", "ask"}, {"aws ssm send-command --parameters commands='curl x'", "deny"}, {"hyperfine --setup='curl x' ls", "ask"}, {"hyperfine --runs=5 ls", "not denied"}, {"entr -c make < f", "not denied"}, {"entr -rs 'curl x' < f", "deny"},
		{"TEXEDIT='curl x' tex f", "deny"}, {"DIFFPROG='curl x' pacdiff", "deny"}, {"export HOMEBREW_EDITOR=curl", "deny"}, {"env MY_CMD='curl x' ./run.sh", "deny"}, {"MY_CMD=$y ./run.sh", "not denied"}, {"MSG='curl x' ./run.sh", "not denied"}, {"EDITOR=true git rebase --continue", "not denied"},
	} {
		a := Analyse(c.command, ws)
		if got := curlDecision(a); got != c.want {
			t.Errorf("%s: %s, want %s (%q, %q)", c.command, got, c.want, a.Unresolved, a.Incomplete)
		}
	}
}

// TestTargets tests programs that take several targets against a rule on one of them.
func TestTargets(t *testing.T) {
	for command, want := range map[string]string{
		"make deploy": "deny", "make build deploy": "deny", "make A=1 deploy": "deny", "make -C x -j4 clean deploy": "deny", "gmake build deploy": "not denied", "make build": "not denied", "make deploy-docs": "not denied", "make -f deploy build": "not denied",
	} {
		if got := decide("deny", "Bash(make deploy:*)", Analyse(command, ws)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
