package shellsafe

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite goldens")

// TestReasons compares the reasons, which users and models see, with a golden file.
func TestReasons(t *testing.T) {
	var b strings.Builder
	for _, s := range append(corpus(t, "bash_not_readonly.txt"), corpus(t, "more_not_readonly.txt")...) {
		a := Analyse(s, ws)
		fmt.Fprintf(&b, "%q\n\t%s\n", s, a.Reason)
		if a.Unresolved != "" {
			fmt.Fprintf(&b, "\tunresolved: %s\n", a.Unresolved)
		}
		for _, why := range []string{a.Reason, a.Unresolved} {
			if len(why) > 160 || !scriptable(why) || strings.ContainsAny(why, "\n\t") {
				t.Errorf("%q: a reason that cannot be shown: %q", s, why)
			}
		}
	}
	golden(t, "reasons.txt", b.String())
}

// TestScripts compares the scripts with a golden file.
func TestScripts(t *testing.T) {
	var b strings.Builder
	for _, s := range append(corpus(t, "bash_readonly.txt"), corpus(t, "more_readonly.txt")...) {
		fmt.Fprintf(&b, "%q\n\t%q\n", s, Analyse(s, ws).Script)
	}
	golden(t, "scripts.txt", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s:%d: %s\nwant %s\n(-update rewrites it)", path, i+1, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Errorf("%s has %d lines, want %d", path, len(g), len(w))
	}
}

// TestPathPolicy checks that a command that reads outside of the workspace is not
// read-only, or that its paths are listed, so that rules on reading apply.
func TestPathPolicy(t *testing.T) {
	for _, s := range corpus(t, "bash_path_policy.txt") {
		a := Analyse(s, ws)
		outside := !a.ReadOnly
		for _, p := range a.Reads {
			full := p.Text
			if !strings.HasPrefix(full, "/") {
				full = startDirs(&Options{Dir: p.Dir}).cd(full).list[0]
			}
			outside = outside || p.Dynamic || !strings.HasPrefix(full+"/", "/ws/") || strings.Contains(full, ".git")
		}
		if !outside {
			t.Errorf("%q is read-only and names nothing outside: %v", s, a.Reads)
		}
	}
}

// TestSurvives analyses all other texts of the corpus.
func TestSurvives(t *testing.T) {
	for _, name := range []string{"bash_either.txt", "bash_unbounded.txt", "bash_path_policy.txt"} {
		for _, s := range corpus(t, name) {
			for _, o := range []Options{ws, {}, {Dir: "relative"}, {Dir: "/", Roots: []string{"/"}, Home: "/"}} {
				if a := Analyse(s, o); a.ReadOnly {
					sameAgain(t, s, a, o)
				} else if a.Reason == "" {
					t.Errorf("%q: no reason", s)
				}
			}
		}
	}
}

// TestLimits checks that texts over a limit are refused.
func TestLimits(t *testing.T) {
	for name, s := range map[string]string{
		"long":      "ls " + strings.Repeat("a", MaxBytes),
		"commands":  strings.Repeat("true;", MaxCommands) + "true",
		"deep":      strings.Repeat("( ", maxNesting+1) + "ls" + strings.Repeat(" )", maxNesting+1),
		"shells":    `sh -c 'sh -c "sh -c \"sh -c ls\""'`,
		"NUL":       "ls\x00",
		"not UTF-8": "ls \xff",
	} {
		if a := Analyse(s, ws); a.ReadOnly || a.Unresolved == "" || allowedBy(a, func(*Command) bool { return true }) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := Analyse(strings.Repeat("true;", MaxCommands-1)+"true", ws); !a.ReadOnly {
		t.Errorf("64 commands: %s", a.Reason)
	}
	a := Analyse(strings.Repeat("true;", 60)+strings.Repeat("true;", 60)+"curl x", ws)
	if n := len(a.Commands); n != 121 || a.Commands[n-1].Name != "curl" {
		t.Errorf("behind the limit %d commands are known", n)
	}
}

// TestTrusted checks that an absolute name is accepted only if LookPath trusts it.
func TestTrusted(t *testing.T) {
	o := ws
	o.LookPath = func(name string) (string, bool) {
		return strings.Replace(name, "/bin/", "/usr/bin/", 1), strings.HasPrefix(name, "/bin/")
	}
	for s, want := range map[string]bool{"/bin/ls -la": true, "/tmp/ls": false, "./ls": false, "bin/ls": false, "/bin/rm x": false, "/bin/git status": true, "/bin/sort -o x": false} {
		a := Analyse(s, o)
		if a.ReadOnly != want {
			t.Errorf("%q: read-only is %v: %s", s, a.ReadOnly, a.Reason)
		}
		if want && !strings.HasPrefix(a.Script, "'/usr/bin/") {
			t.Errorf("%q runs %s", s, a.Script)
		}
	}
}

// TestRoots checks that cd and git -C must stay inside of the roots.
func TestRoots(t *testing.T) {
	o := Options{Dir: "/a/b", Roots: []string{"/a/b", "/c"}, Home: "/h"}
	for s, want := range map[string]bool{
		"cd x && ls": true, "cd /c/d && ls": true, "cd /a && ls": false, "cd .. && ls": false, "cd x/.. && ls": true, "cd /a/bc && ls": false, "cd && ls": false,
		"git -C x status": true, "git -C .. status": false, "git -C /c status": true, "cd x && git -C .. status": true, "cd x && git -C ../.. status": false, "cd x; git -C .. status": false,
	} {
		if a := Analyse(s, o); a.ReadOnly != want {
			t.Errorf("%q: read-only is %v: %s", s, a.ReadOnly, a.Reason)
		}
	}
	if a := Analyse("cd x && git status | cat; cd /c && git log", o); strings.Join(a.GitDirs, " ") != "/a/b/x /c" {
		t.Errorf("git runs in %v", a.GitDirs)
	}
}

// TestTable checks the notation of the tables: every entry has a reason, and no
// letter occurs twice with different values.
func TestTable(t *testing.T) {
	for _, tab := range []map[string]*spec{table, gitTable} {
		for name, s := range tab {
			if s.why == "" {
				t.Errorf("%s has no reason", name)
			}
			kinds := map[byte]byte{}
			for i := 0; i < len(s.short); i++ {
				b, kind := s.short[i], byte(0)
				if strings.IndexByte(":%/", b) >= 0 {
					continue
				}
				if i+1 < len(s.short) && strings.IndexByte(":%/", s.short[i+1]) >= 0 {
					kind = s.short[i+1]
				}
				if old, ok := kinds[b]; ok && old != kind {
					t.Errorf("%s: -%c has two forms", name, b)
				}
				kinds[b] = kind
			}
			if s.harmless && !strings.HasSuffix(s.ops, "*") && s.ops != "" {
				t.Errorf("%s takes a limited number of operands and patterns", name)
			}
			for _, f := range s.inject {
				if lookLong(s.long, strings.TrimPrefix(f, "--")) == "none" && lookLong(s.long, strings.SplitN(f[2:], "=", 2)[0]) == "none" {
					t.Errorf("%s: the injected flag %s is not on its table", name, f)
				}
			}
		}
	}
}

// TestWords checks that the words that rules match are those that the shell gives
// the command.
func TestWords(t *testing.T) {
	for s, want := range map[string]string{
		`echo "a\$b" 'c\$d' e\$f "g\h" "i\\j"`: `echo|a$b|c\$d|e$f|g\h|i\j`,
		`echo $'a\tb\x41\u00e9' ''`:            "echo|a\tbAé|",
		"echo a\"b 'c'\"d 'e \"f\"'":           `echo|ab 'c'd|e "f"`,
		"ec''ho \\a\\ b {x} HEAD@{1}":          "echo|a b|{x}|HEAD@{1}",
	} {
		a := Analyse(s, ws)
		if got := strings.Join(a.Commands[0].Words, "|"); got != want || !a.Commands[0].Literal || !a.ReadOnly {
			t.Errorf("%s: %q, want %q (%s)", s, got, want, a.Reason)
		}
	}
}

// TestUnresolved tests texts that no rule may treat as known.
func TestUnresolved(t *testing.T) {
	for _, s := range []string{"sudo -Z foo bar", "timeout --nosuch 5 ls", "echo ${x:-@(a|b)}", "[[ a == @(b) ]]", "xargs -I{} {} x", "env $X", "sh -c \"$X\"", "bash $X", "$X", "{a,$X}", "cat <<$'E'\nx\nE"} {
		if a := Analyse(s, ws); a.Unresolved == "" && s != "echo ${x:-@(a|b)}" && s != "xargs -I{} {} x" {
			t.Errorf("%q is resolved: %v", s, a.Commands)
		}
	}
	for _, open := range []string{"(", "{", "[", "$("} {
		if nesting(strings.Repeat(open, maxNesting+1)) == "" || nesting(strings.Repeat(open+"x)}]", 1000)) != "" {
			t.Errorf("nesting of %s is not counted", open)
		}
	}
}
