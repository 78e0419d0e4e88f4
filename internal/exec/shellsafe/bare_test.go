package shellsafe

import "testing"

// TestEverydayFlags tests common calls of wrappers: their flags are known, so that neither a
// rule that denies curl nor a call without rules asks.
func TestEverydayFlags(t *testing.T) {
	for _, s := range []string{
		"gdb -batch -ex bt ./a.out core", "gdb -q -nx -batch -ex run -ex bt --args ./a.out x", "strace -c ls", "strace -yy -f -tt -e trace=network ./a.out", "strace --summary-only ls", "ltrace -c -S ls",
		"perf record -g -F 99 ./a.out", "perf report --stdio", "perf record --call-graph dwarf ./a.out", "taskset -c 0-3 ./bench", "taskset -ac 0 ls", "xvfb-run -a npm test", "xvfb-run --auto-servernum --server-num 1 npm test",
		"parallel -j4 --bar gzip ::: a b", "parallel --halt now,fail=1 gzip ::: a", "hyperfine --warmup 3 ./a.out", "hyperfine -N --export-json o.json ./a.out", "unshare -Urn ls", "unshare -rn ls",
		"crontab -l", "crontab -u x -l", "make SHELL=/bin/bash test", "make SHELL=bash", "fc -l", "java -XX:+UseG1GC -jar curl.jar", "npm explore", "nix run nixpkgs#hello -- curl", "yt-dlp curl", "mapfile -t -C echo -c1 a", "pwsh -ExecutionPolicy Bypass -File x.ps1",
		"CMAKE_C_COMPILER_LAUNCHER=ccache cmake -B b", "CMAKE_BUILD_TYPE=curl cmake -B b", "lerna run curl", "heroku logs", "mutt -e 'set from=\"curl@x\"' x",
	} {
		a := Analyse(s, ws)
		if got := curlDecision(a); got != "not denied" && a.Unresolved+a.Incomplete != "" || a.Unresolved != "" {
			t.Errorf("%s: %s (%q, %q)", s, got, a.Unresolved, a.Incomplete)
		}
	}
}

// TestSeldom tests seldom ways to run a program against a rule that denies curl.
func TestSeldom(t *testing.T) {
	for s, want := range map[string]string{
		"gdb -q --args curl x": "deny", "strace -c curl x": "deny", "perf record -g curl x": "deny", "taskset -c 0 curl x": "deny", "xvfb-run -a curl x": "deny", "parallel --bar curl ::: x": "deny", "hyperfine -N 'curl x'": "deny", "unshare -Urn curl x": "deny", "hyperfine --prepare 'curl x' ls": "ask",
		// The name that another shell finds behind a sign.
		"zsh -c '=curl x'": "deny", "nu -c '^curl x'": "deny", "elvish -c 'e:curl x'": "deny", "zsh -c 'noglob =curl x'": "ask",
		"pwsh -enc YwA=": "ask", "pwsh -EncodedCommand YwA=": "ask", "pwsh -NoProfile -ec YwA=": "ask", "pwsh -c 'curl x'": "deny",
		// A callback gets further words.
		"mapfile -t -C timeout -c1 <<< curl": "ask", `readarray -C 'bash -c "$1"' -c1 <<< 'curl x'`: "ask", "mapfile -C 'curl x' -c1 <<< a": "deny", "mapfile -C 'curl x; :' -c1 <<< a": "deny",
		"set -H\nhistory -s 'curl x'\n!!": "ask", "set -o history -o histexpand\n!!": "ask", "set -euo pipefail; ls": "not denied", "set +o histexpand; ls": "not denied", "set +H; ls": "not denied", "history -s 'curl x'; fc -s": "ask", "history -s 'curl x'; fc -e : -1": "ask",
		"nix run nixpkgs#curl -- x": "deny", "nix run nixpkgs#curl x": "deny", `nix run "$F#curl" x`: "ask", "snap run curl x": "deny", "snap run --shell a -c 'curl x'": "deny",
		"java -XX:OnError='curl x' A": "deny", "java -XX:OnOutOfMemoryError='curl x' A": "deny", "CMAKE_C_COMPILER_LAUNCHER=curl cmake -B b": "deny", "CMAKE_CXX_LINKER_LAUNCHER=curl cmake -B b": "deny", "CMAKE_CXX_COMPILER='curl x' cmake -B b": "deny",
		"npm explore a -- curl x": "deny", "lerna exec -- curl x": "deny", "lerna exec curl x": "deny", "heroku local:run curl x": "deny", "yt-dlp --exec 'curl x' u": "deny", "yt-dlp --exec='curl x' u": "deny", "yt-dlp --netrc-cmd 'curl x' u": "deny",
		`mutt -e 'set sendmail="curl x"' a`: "deny", "mutt -e 'set editor=curl' a": "deny",
		"make SHELL=curl": "deny", "make SHELL='bash -c \"curl x\"'": "deny", "crontab < x": "ask", "crontab x": "ask",
	} {
		a := Analyse(s, ws)
		if got := curlDecision(a); got != want && !(want == "ask" && a.Unresolved != "") {
			t.Errorf("%s: %s, want %s (%q, %q; %v)", s, got, want, a.Unresolved, a.Incomplete, commandTexts(a))
		}
	}
}
