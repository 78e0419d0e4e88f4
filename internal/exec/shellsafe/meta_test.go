package shellsafe

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// joinable returns the commands of a file after which another can follow.
func joinable(t testing.TB, name string) []string {
	var out []string
	for _, s := range corpus(t, name) {
		if !strings.ContainsAny(s, "#\n") && strings.TrimSpace(s) != "" && !strings.Contains(s, "<<") && !strings.HasSuffix(s, "|") && !strings.HasSuffix(s, "&&") && !strings.HasSuffix(s, `\`) {
			out = append(out, s)
		}
	}
	return out
}

// TestJoined joins read-only commands, which must be read-only together, and
// appends a bad command, which must not be.
func TestJoined(t *testing.T) {
	good, bad := joinable(t, "bash_readonly.txt"), joinable(t, "bash_not_readonly.txt")
	bad = append(bad, joinable(t, "more_not_readonly.txt")...)
	r := rand.New(rand.NewPCG(1, 2))
	for range randomPairs {
		x, y, z := good[r.IntN(len(good))], good[r.IntN(len(good))], bad[r.IntN(len(bad))]
		for _, sep := range []string{" && ", "; ", "\n", " || ", " | "} {
			if sep == " | " && strings.HasPrefix(y, "! ") {
				continue
			}
			// After cd sub, the other command runs in sub, which is inside too.
			if a := Analyse(x+sep+y, ws); !a.ReadOnly {
				t.Errorf("%q is not read-only: %s", x+sep+y, a.Reason)
			}
			if a := Analyse(x+sep+z, ws); a.ReadOnly {
				t.Errorf("%q is read-only", x+sep+z)
			}
			if a := Analyse(z+sep+x, ws); a.ReadOnly {
				t.Errorf("%q is read-only", z+sep+x)
			}
		}
	}
}

// TestDisguised hides a denied command in other texts. Its name must be listed, or
// the text must be unresolved.
func TestDisguised(t *testing.T) {
	name := "curl"
	r := rand.New(rand.NewPCG(3, 4))
	// These programs run their words; shell syntax can surround them.
	programs := []string{
		"%", "sudo %", "env A=b %", "timeout 5 %", "nice -n 3 %", "nohup %", "command %", "exec %", "xargs %", "stdbuf -oL %", "find . -exec % \\;",
	}
	syntax := []string{
		"%", "( % )", "{ %; }", "if %; then :; fi", "while %; do break; done", "! %", "% &", "echo $(%)", "echo \"$(%)\"", "echo `%`", "cat <(%)", "f() { %; }; f",
		"time %", "A=b %", "2>&1 %", "% > x", "<x %",
		"ls && %", "ls; %", "ls | %", "ls\n%", "cd x && %", "ls # c\n%", "case a in a) % ;; esac", "for i in a; do %; done", "cat <<E\nx\nE\n%", "ls #\\\n%", "ls \\\n; %", "true;true;true;%",
		"coproc %", "X=$(%)", "[[ a == $(%) ]]", "echo ${x:-$(%)}", "echo $(( $(%) ))",
	}
	dress := func(s string) string {
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			switch r.IntN(10) {
			case 0:
				b.WriteString("''")
			case 1:
				b.WriteString("\\")
			case 2:
				b.WriteString(`""`)
			case 3:
				b.WriteString("\\\n")
			case 4:
				b.WriteString(`"` + s[i:i+1] + `"`)
				continue
			case 5:
				b.WriteString(`'` + s[i:i+1] + `'`)
				continue
			}
			b.WriteByte(s[i])
		}
		return b.String()
	}
	for range randomPairs {
		s := dress(name) + " x"
		if r.IntN(4) == 0 {
			s = "/usr/bin/" + s
		}
		for range r.IntN(3) {
			s = strings.ReplaceAll(programs[r.IntN(len(programs))], "%", s)
		}
		for range r.IntN(3) {
			with := syntax[r.IntN(len(syntax))]
			if strings.Contains(with, "`") && strings.Contains(s, "`") {
				continue // they cannot be nested like that
			}
			s = strings.ReplaceAll(with, "%", s)
		}
		a := Analyse(s, ws)
		found := a.Unresolved != ""
		for i := range a.Commands {
			found = found || a.Commands[i].Name == name
		}
		if !found || a.ReadOnly {
			t.Errorf("%q hides %s: %v", s, name, a.Commands)
		}
	}
}

// floods returns texts that are hard for a parser.
func floods() map[string]string {
	out := map[string]string{}
	for _, s := range []string{"(", "$(", "$((", "`", "{ ", "${x:-", "if ", "while ", "for x in a; do ", "case a in a) ", "<<a ", "<<a\n", "((", "[[ ( ", "\"$(", "! ", "time ", "coproc ", "a|", "a&&", "a;", "[[ ! ", "$[", "f() ", "function f ", "<(", "a=(", "x[", "echo $((-", "(')';", "{ '}';", "$(: ')';", "'", "\"", "\\", "\n", "if a; then b; elif ", "a[$(", "@(", "sh -c '", "eval ", "sudo ", "env ", "xargs ", "*", "[", "{a,", "~/", "#", "$'\\"} {
		for _, n := range []int{MaxBytes / len(s), 400_000 / len(s)} {
			out[s+"*"+string(rune('0'+min(9, n/10000)))] = strings.Repeat(s, n)
		}
	}
	return out
}

func TestFloods(t *testing.T) {
	for name, s := range floods() {
		start := time.Now()
		a := Analyse(s, ws)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: %v", name, took)
		} else if took > 30*time.Millisecond {
			t.Logf("%s (%d bytes): %v", name, len(s), took)
		}
		if a.ReadOnly && name[0] != '\n' && name[0] != '#' {
			t.Errorf("%s is read-only", name)
		}
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, name := range []string{"bash_readonly.txt", "bash_not_readonly.txt", "bash_either.txt", "more_readonly.txt", "more_not_readonly.txt"} {
		for _, s := range corpus(f, name) {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		start := time.Now()
		a := Analyse(s, ws)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%v", took)
		}
		if a.ReadOnly {
			sameAgain(t, s, a, ws)
			return
		}
		if a.Reason == "" {
			t.Error("no reason")
		}
	})
}

func BenchmarkAnalyse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Analyse("git status && ls -la | head -5", ws)
	}
}
