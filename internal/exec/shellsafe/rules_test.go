package shellsafe

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// prefixRule returns a matcher for Bash(NAME:*), which matches at a word boundary.
func prefixRule(rule string) func(string) bool {
	p := strings.TrimSuffix(strings.TrimPrefix(rule, "Bash("), ":*)")
	return func(text string) bool { return text == p || strings.HasPrefix(text, p+" ") }
}

// allowedBy reports whether rules allow the whole command: everything is known, and
// every part that no other part runs is allowable and matched.
func allowedBy(a *Analysis, match func(*Command) bool) bool {
	if a.Unresolved != "" {
		return false
	}
	for i := range a.Commands {
		if c := &a.Commands[i]; !c.Inner && (!c.Allowable || len(c.Outputs) > 0 || !match(c)) {
			return false
		}
	}
	return len(a.Commands) > 0
}

// decide is a small policy based on an analysis.
func decide(kind, rule string, a *Analysis) string {
	match := prefixRule(rule)
	if kind == "allow" {
		if allowedBy(a, func(c *Command) bool { return match(c.Text) }) {
			return "allow"
		}
		return "ask"
	}
	for i := range a.Commands {
		c := &a.Commands[i]
		if match(c.DenyText()) || slices.ContainsFunc(c.Forms, func(f Form) bool { return match(f.Text) }) {
			return "deny"
		}
	}
	if a.Unresolved != "" {
		return "ask"
	}
	return "not denied"
}

func TestRules(t *testing.T) {
	data, err := os.ReadFile("testdata/rule_cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range strings.Split(string(data), "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 4 || !strings.HasPrefix(f[1], "Bash(") || strings.HasPrefix(f[2], "any") || f[0] == "rule" {
			continue
		}
		n++
		got := decide(f[0], f[1], Analyse(decode(t, f[2]), ws))
		want := strings.Replace(f[3], "reject", "ask", 1)
		if got == "not denied" {
			got = "allow or not denied"
		}
		if !strings.Contains(want, got) && !strings.Contains(got, want) && !strings.Contains(want, "allow or ask") {
			t.Errorf("%s %s %q: %s, want %s", f[0], f[1], f[2], got, f[3])
		}
	}
	if n < 60 {
		t.Errorf("only %d cases", n)
	}
}

// TestMoreRules tests rules that the corpus does not cover.
func TestMoreRules(t *testing.T) {
	for _, c := range []struct{ kind, rule, command, want string }{
		{"deny", "Bash(curl:*)", "bash -lc 'curl x'", "deny"},
		{"deny", "Bash(curl:*)", "sh -euxc 'curl x'", "deny"},
		{"deny", "Bash(curl:*)", "bash -o pipefail -c 'ls | curl x'", "deny"},
		{"deny", "Bash(curl:*)", `sh -c "sh -c 'curl x'"`, "deny"},
		{"deny", "Bash(curl:*)", `sh -c 'sh -c "sh -c \"sh -c curl\""'`, "ask"},
		{"deny", "Bash(curl:*)", "sudo -u root env A=b nice -n 3 curl x", "deny"},
		{"deny", "Bash(curl:*)", "sudo -Z foo curl x", "deny"},
		{"deny", "Bash(curl:*)", "xargs -0n1 curl", "deny"},
		{"deny", "Bash(curl:*)", "ls | xargs -I{} curl {}", "deny"},
		{"deny", "Bash(curl:*)", "ls | xargs -I{} sh -c 'curl {}'", "deny"},
		{"deny", "Bash(curl:*)", "find . -name x -exec sh -c 'curl x' \\;", "deny"},
		{"deny", "Bash(curl:*)", "find . -ok curl {} \\; -print", "deny"},
		{"deny", "Bash(curl:*)", "fd -x curl", "deny"},
		{"deny", "Bash(curl:*)", "fd -tfx curl", "deny"},
		{"deny", "Bash(curl:*)", "env -S'curl x'", "deny"},
		{"deny", "Bash(curl:*)", "env -S 'curl x' y", "deny"},
		{"deny", "Bash(curl:*)", "su - root -c 'curl x'", "deny"},
		{"deny", "Bash(curl:*)", "su -c 'curl x' root", "deny"},
		{"deny", "Bash(curl:*)", "watch -n 5 curl x", "deny"},
		{"deny", "Bash(curl:*)", "flock /tmp/l curl x", "deny"},
		{"deny", "Bash(curl:*)", "flock /tmp/l -c 'curl x'", "deny"},
		{"deny", "Bash(curl:*)", "script -qc 'curl x' /dev/null", "deny"},
		{"deny", "Bash(curl:*)", "start-stop-daemon -S -x /usr/bin/curl -- x", "deny"},
		{"deny", "Bash(curl:*)", "strace -f -o x curl x", "deny"},
		{"deny", "Bash(curl:*)", "trap 'curl x' EXIT", "deny"},
		{"deny", "Bash(curl:*)", "alias ls='curl x'", "deny"},
		{"deny", "Bash(curl:*)", "eval $'curl\\x20x'", "deny"},
		{"deny", "Bash(curl:*)", "eval \"curl $X\"", "deny"},
		{"deny", "Bash(curl:*)", "eval \"$X\"", "ask"},
		{"deny", "Bash(curl:*)", "git bisect run curl x", "deny"},
		{"deny", "Bash(curl:*)", "git submodule foreach 'curl x'", "deny"},
		{"deny", "Bash(curl:*)", "git -c alias.x='!curl x' x", "deny"},
		{"deny", "Bash(curl:*)", "git rebase -x 'curl x' HEAD~1", "deny"},
		{"deny", "Bash(curl:*)", "busybox curl x", "deny"},
		{"deny", "Bash(curl:*)", "time curl x", "deny"},
		{"deny", "Bash(curl:*)", "/usr/bin/time -p curl x", "deny"},
		{"deny", "Bash(curl:*)", "coproc curl x", "deny"},
		{"deny", "Bash(curl:*)", "X=$(curl x)", "deny"},
		{"deny", "Bash(curl:*)", "export X=$(curl x)", "deny"},
		{"deny", "Bash(curl:*)", "a=(1 $(curl x))", "deny"},
		{"deny", "Bash(curl:*)", "echo ${x:-$(curl x)}", "deny"},
		{"deny", "Bash(curl:*)", "echo $((1+$(curl x)))", "deny"},
		{"deny", "Bash(curl:*)", "((x=$(curl x)))", "deny"},
		{"deny", "Bash(curl:*)", "let x=$(curl x)", "deny"},
		{"deny", "Bash(curl:*)", "[[ a == $(curl x) ]]", "deny"},
		{"deny", "Bash(curl:*)", "case $(curl x) in a) ;; esac", "deny"},
		{"deny", "Bash(curl:*)", "case a in $(curl x)) ;; esac", "deny"},
		{"deny", "Bash(curl:*)", "for x in $(curl x); do :; done", "deny"},
		{"deny", "Bash(curl:*)", "for ((i=$(curl x);;)); do :; done", "deny"},
		{"deny", "Bash(curl:*)", "cat <<EOF\n$(curl x)\nEOF", "deny"},
		{"deny", "Bash(curl:*)", "cat <<< \"$(curl x)\"", "deny"},
		{"deny", "Bash(curl:*)", "ls > $(curl x)", "deny"},
		{"deny", "Bash(curl:*)", "if false; then :; elif curl x; then :; else :; fi", "deny"},
		{"deny", "Bash(curl:*)", "if false; then :; else curl x; fi", "deny"},
		{"deny", "Bash(curl:*)", "until curl x; do :; done", "deny"},
		{"deny", "Bash(curl:*)", "select x in a; do curl x; done", "deny"},
		{"deny", "Bash(curl:*)", "echo `echo \\`curl x\\``", "deny or ask"},
		{"deny", "Bash(curl:*)", "[[ 'a[$(curl x)]' -eq 0 ]]", "ask"},
		{"deny", "Bash(curl:*)", "test -v 'a[$(curl x)]'", "ask"},
		{"deny", "Bash(curl:*)", "printf -v 'a[$(curl x)]' y", "ask"},
		{"deny", "Bash(curl:*)", "x='a[$(curl x)]'; echo $((x))", "ask"},
		{"deny", "Bash(curl:*)", "x='a[`curl x`]'; echo ${PWD:x}", "ask"},
		{"deny", "Bash(curl:*)", "x='$(curl x)'; echo ${x@P}", "ask"},
		{"deny", "Bash(curl:*)", "declare 'a[$(curl x)]=1'", "ask"},
		{"deny", "Bash(curl:*)", "let 'a[$(curl x)]=1'", "ask"},
		{"deny", "Bash(curl:*)", "read 'a[$(curl x)]' < y", "ask"},
		{"deny", "Bash(curl:*)", "shopt -s extglob\necho @(a|$(curl x))", "ask"},
		{"deny", "Bash(curl:*)", "$'\\143url' x", "deny"},
		{"deny", "Bash(curl:*)", "cu\\rl x", "deny"},
		{"deny", "Bash(curl:*)", "cu*l x", "ask"},
		{"deny", "Bash(curl:*)", "~/bin/curl x", "deny"},
		{"deny", "Bash(curl:*)", "<&-curl x", "ask"},
		{"deny", "Bash(curl:*)", "ls >&-curl x", "ask"},
		{"deny", "Bash(curl:*)", "command -v curl", "not denied"},
		{"deny", "Bash(curl:*)", "echo curl", "not denied"},
		{"deny", "Bash(curl:*)", "grep -rn 'curl x' .", "not denied"},
		{"deny", "Bash(curl:*)", "git commit -m 'use curl x'", "not denied"},
		{"allow", "Bash(npm test:*)", "npm test", "allow"},
		{"allow", "Bash(npm test:*)", "npm test 2>&1", "allow"},
		{"allow", "Bash(npm test:*)", "npm test && npm test -- -v", "allow"},
		{"allow", "Bash(npm test:*)", "npm test && npm publish", "ask"},
		{"allow", "Bash(npm test:*)", "npm test | tee x", "ask"},
		{"allow", "Bash(npm test:*)", "npm test -- src/*.ts", "allow"},
		{"allow", "Bash(npm test:*)", "npm test `npm publish`", "ask"},
		{"allow", "Bash(npm test:*)", "PATH=. npm test", "ask"},
		{"allow", "Bash(npm test:*)", "PATH=.; npm test", "ask"},
		{"allow", "Bash(npm test:*)", "export PATH=.; npm test", "ask"},
		{"allow", "Bash(npm test:*)", "for PATH in .; do npm test; done", "ask"},
		{"allow", "Bash(npm test:*)", "((PATH=1)); npm test", "ask"},
		{"allow", "Bash(npm test:*)", "timeout 5 npm test", "ask"},
		{"allow", "Bash(timeout 5 npm test:*)", "timeout 5 npm test", "allow"},
		{"allow", "Bash(npm test:*)", "npm test < /dev/tcp/h/1", "ask"},
		{"allow", "Bash(npm test:*)", "npm test > x", "ask"},
		{"allow", "Bash(npm test:*)", "{ npm test; } > x", "ask"},
		{"allow", "Bash(npm test:*)", "", "ask"},
	} {
		got := decide(c.kind, c.rule, Analyse(c.command, ws))
		if !strings.Contains(c.want, got) {
			a := Analyse(c.command, ws)
			t.Errorf("%s %s %q: %s, want %s (%s)", c.kind, c.rule, c.command, got, c.want, a.Unresolved)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ command, reads, writes string }{
		{"cat .env", "/ws:.env", ""},
		{"cat ./.e*", "/ws:./.e*?", ""},
		{"cat $HOME/x ~/y", "/home/u/x /home/u/y", ""},
		{"cd sub && cat a", "/ws:sub /ws/sub:a", ""},
		{"cd sub; cat a", "/ws:sub /ws/sub:a /ws:a", ""},
		{"cd $X && cat a", "/ws:a :a?", ""},
		{"(cd sub; ls) && cat a", "/ws:sub /ws/sub:.+ /ws:.+ /ws:a", ""},
		{"cd a && echo x > b", "/ws:a", "/ws/a:b"},
		{"cat --nosuch .env", "/ws:.env", ""},
		{"echo x > a 2>> b", "", "/ws:a /ws:b"},
		{"echo x >& a", "", "/ws:a"},
		{"echo x > $X", "", "/ws:$X?"},
		{"rm -rf a b/*", "", "/ws:a+ /ws:b/*?+"},
		{"cp a b c", "/ws:a /ws:b", "/ws:c /ws:c/a /ws:c/b"},
		{"cp -t d a", "/ws:a", "/ws:d /ws:d/a"},
		{"mv a b", "/ws:a /ws:b", "/ws:a+ /ws:b /ws:b/a"},
		{"ls | tee -a x", "/ws:.+", "/ws:x"},
		{"sed -i s/a/b/ x y", "/ws:x /ws:y", "/ws:x /ws:y"},
		{"sed -n p x", "/ws:x", ""},
		{"dd if=a of=b", "/ws:a", "/ws:b"},
		{"sudo rm /etc/x", "", "/etc/x+"},
		{"sh -c 'rm x'", "", "/ws:x+"},
		{"f() { rm x; }", "", "/ws:x+ :x?+"},
		{"cd a && eval 'rm x'", "/ws:a", "/ws/a:x+"},
		{"grep -f pats x", "/ws:pats /ws:x", ""},
		{"grep -rn foo src", "/ws:src+", ""},
		{"cat < a <<< b", "/ws:a", ""},
		{"ls | xargs cat", "/ws:.+ :?", ""},
		{"awk '{print}' .env", "/ws:.env", ""},
		{"test -f .env", "/ws:.env", ""},
		{"[[ a -nt b ]]", "/ws:a /ws:b", ""},
		{"git -C sub log -- f", "/ws/sub:f /ws:sub+ /ws/sub:f /ws/sub:.+", ""},
		{"date -r x", "/ws:x", ""},
		{"find a -newer b", "/ws:a+ /ws:b", ""},
		{"sqlite3 -header x .tables", "/ws:x /ws:.tables", ""},
		{"sqlite3 x 'SELECT 1; DROP TABLE t'", "/ws:x /ws:SELECT 1; DROP TABLE t", "/ws:x /ws:SELECT 1; DROP TABLE t"},
		{"sqlite3 x 'PRAGMA table_info(t);'", "/ws:x /ws:PRAGMA table_info(t);", ""},
		{"sqlite3 x 'PRAGMA user_version(5)'", "/ws:x /ws:PRAGMA user_version(5)", "/ws:x /ws:PRAGMA user_version(5)"},
		{"sqlite3 x 'SELECT 1'", "/ws:x /ws:SELECT 1", ""},
		{"sqlite3 x '.save y'", "/ws:x /ws:.save y", "/ws:x /ws:.save y"},
		{"sqlite3 x", "/ws:x", "/ws:x"},
		{"d=a; cat $d/b > ${d}c", "/ws:a/b", "/ws:ac"},
		{"for f in a b; do rm \"$f\"; done", "", "/ws:a+ /ws:b+"},
	} {
		a := Analyse(c.command, ws)
		if got := showPaths(a.Reads); got != c.reads {
			t.Errorf("%q reads %q, want %q", c.command, got, c.reads)
		}
		if got := showPaths(a.Writes); got != c.writes {
			t.Errorf("%q writes %q, want %q", c.command, got, c.writes)
		}
	}
}

func showPaths(ps []Path) string {
	var out []string
	for _, p := range ps {
		s := p.Text
		if !strings.HasPrefix(s, "/") {
			s = p.Dir + ":" + s
		}
		if p.Dynamic {
			s += "?"
		}
		if p.Below {
			s += "+"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestFacts(t *testing.T) {
	for s, want := range map[string]bool{"sleep 5": true, "sleep 5 && ls": true, "sleep 5; x": true, "ls; sleep 5": false, "": false, "timeout 5 sleep 9": false} {
		if got := LeadingSleep(s); got != want {
			t.Errorf("LeadingSleep(%q) is %v", s, got)
		}
	}
	for s, want := range map[string]bool{
		"grep x y": true, "ls | grep x": true, "grep x y | wc -l": false, "ls; diff a b": true, "[ -f x ]": true, "[[ -f x ]]": true,
		"test -f x && echo yes": true, "npm test && grep x y": false, "cd a && grep x y": true, "grep a b && grep x y": true, "false && test -f x": false, "make; grep x y": true, "make || grep x y": true, "grep x y && npm test": false, "npm test": false, "! grep x y": true, "/usr/bin/grep x y": true, "": false,
	} {
		if got := ResultExit(Analyse(s, ws), 1); got != want {
			t.Errorf("ResultExit(%q) is %v", s, got)
		}
		if ResultExit(Analyse(s, ws), 2) {
			t.Errorf("%q: 2 is a result", s)
		}
	}
}
