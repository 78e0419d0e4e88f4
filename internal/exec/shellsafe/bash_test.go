package shellsafe

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func needBash(t testing.TB) string {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	if out, err := exec.Command(bash, "-c", "echo $BASH_VERSINFO").Output(); err != nil || len(out) < 2 || out[0] < '4' {
		t.Skip("no bash of version 4 or later")
	}
	return bash
}

// runScript runs a text in the way that Script requires.
func runScript(bash, dir, script string, env ...string) (string, error) {
	cmd := exec.Command(bash, "--norc", "--noprofile", "-p", "-c", script)
	cmd.Dir = dir
	cmd.Env = env
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// probes is a folder of programs that write their arguments to a log.
type probes struct {
	bash, bin, log, dir string
	names               []string
	runs                int
}

// newProbes makes probes with the given names. A probe writes its words to the log,
// each after its length, so that they cannot be confused.
func newProbes(t testing.TB, names ...string) *probes {
	p := &probes{bash: needBash(t), names: names}
	root := t.TempDir()
	p.bin, p.log, p.dir = filepath.Join(root, "bin"), filepath.Join(root, "log"), filepath.Join(root, "empty")
	for _, d := range []string{p.bin, p.dir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	body := "#!" + p.bash + "\nunset IFS; s=; for a in \"${0##*/}\" \"$@\"; do s+=\"${#a}:$a \"; done\n" +
		// Bash writes line by line, and another probe might write in between.
		"s=${s//$'\\x01'/$'\\x01\\x02'}; s=${s//$'\\n'/$'\\x01\\x03'}\nprintf '%s\\0' \"$s\" >> \"$PROBE_LOG\"\n"
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(p.bin, n), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run runs a script and returns the executed commands.
func (p *probes) run(t testing.TB, script string) []string {
	t.Helper()
	// Each run has its own log: background processes may write late.
	p.runs++
	log := fmt.Sprint(p.log, p.runs)
	runScript(p.bash, p.dir, script, "PATH="+p.bin, "LC_ALL=C.UTF-8", "PROBE_LOG="+log)
	data, _ := os.ReadFile(log)
	os.Remove(log)
	if len(data) == 0 {
		return nil
	}
	text := strings.NewReplacer("\x01\x02", "\x01", "\x01\x03", "\n").Replace(strings.TrimSuffix(string(data), "\x00"))
	return strings.Split(text, "\x00")
}

// argv returns words in the form in which a probe logs them.
func argv(words []string) string {
	var b strings.Builder
	for _, w := range words {
		fmt.Fprintf(&b, "%d:%s ", len([]rune(w)), w)
	}
	return b.String()
}

// TestScriptRuns runs scripts of commands that are not builtins, with a PATH of
// probes. It checks that the executed commands are those that the analysis of the
// script lists.
func TestScriptRuns(t *testing.T) {
	var names []string
	for n, s := range table {
		if s.outside && !s.raw && n != "pwd" {
			names = append(names, n)
		}
	}
	names = append(names, "git", "rg", "find", "xargs", "timeout", "expr", "seq")
	slices.Sort(names)
	names = slices.Compact(names)
	p := newProbes(t, names...)
	if err := os.MkdirAll(filepath.Join(p.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: p.dir, Roots: []string{p.dir}, Home: "/home/u"}
	ran := 0
	for _, name := range []string{"bash_readonly.txt", "more_readonly.txt"} {
		for i, s := range corpus(t, name) {
			a := Analyse(s, o)
			if i%runStride > 0 || !a.ReadOnly || strings.Contains(a.Script, "$") {
				continue
			}
			predicted, glob := map[string]bool{}, false
			for _, c := range Analyse(a.Script, o).Commands {
				glob = glob || !c.Literal
				if !c.Inner {
					predicted[argv(c.Words)] = true
				}
			}
			if glob {
				continue
			}
			for _, got := range p.run(t, a.Script) {
				ran++
				if !predicted[got] {
					t.Errorf("%q ran %q\n%s\n%v", s, got, a.Script, predicted)
				}
			}
		}
	}
	if ran < 150/runStride {
		t.Errorf("only %d commands ran", ran)
	}
}

// soup returns random texts made of pieces that shells treat specially.
func soup(r *rand.Rand) string {
	pieces := []string{"p1", "p2", "p3", "a", "b c", " ", " ", " ", " ", " ", "'", "\"", "\\", "\n", ";", "&&", "||", "|", "#", "$", "`", "(", ")", "{", "}", "<", ">", "<<", "<<<", "EOF", "\nEOF\n", "&", "!", "~", "*", "?", "[", "]", "=", "x=", "2>&1", "> /dev/null", "'a b'", "\"a b\"", "\\ ", "\\\n", "$'a\\nb'", "$x", "${x}", "$(p1 a)", "`p2`", "if", "then", "fi", "-", "--", "é", ",", "..", "0", "1", "\t", "\r", "^", "%", "@", "+", ":", "/", ".", "then p1", "do", "done", "esac", "in", "case", "for", "while", "time", "function", "[[", "]]", "<&", ">&", "<&-", ">&-", "|&", "&>", "<>", "<<-", ">|", "<(", "$((", "((", "))", "@(", "!(", "{a}", "2", "&&\n", "|\n", "\n\n", "p1=", "=p1", "[a]=", "+=", "(p1)", "{ p2; }", "$\"", "''", "\"\"", "<<'E'\n", "\nE\n", ";;", "p3() ", "coproc ", "!p1"}
	var b strings.Builder
	b.WriteString([]string{"p1 ", "p2 a", "", " p3", "#"}[r.IntN(5)])
	for range 1 + r.IntN(12) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// literalOnly reports whether an analysis claims to know every word that may be
// executed.
func literalOnly(a *Analysis) bool {
	for i := range a.Commands {
		if !a.Commands[i].Literal || a.Commands[i].Name == "" {
			return false
		}
	}
	return a.Unresolved == ""
}

// checkDiff fails if bash executes anything that the analysis of the text did not
// list, or something else for the text as Normalize returns it.
func (p *probes) checkDiff(t testing.TB, s string) bool {
	normal := Normalize(s)
	ran, known := p.checkText(t, normal)
	if normal != s {
		p.checkText(t, s)
		if known && !strings.Contains(s, "\r") {
			as := p.run(t, s)
			slices.Sort(as) // commands in the background run in any order
			slices.Sort(ran)
			if !slices.Equal(ran, as) {
				t.Errorf("%q ran %q, and normalized as %q it ran %q", s, as, normal, ran)
			}
		}
	}
	return len(ran) > 0
}

// checkText runs a text whose words are all known and compares. It reports whether they are.
func (p *probes) checkText(t testing.TB, s string) (ran []string, known bool) {
	a := Analyse(s, Options{Dir: p.dir})
	if !literalOnly(a) || strings.Contains(s, ">") && len(a.Writes) > 0 {
		return nil, false
	}
	predicted := map[string]bool{}
	for _, c := range a.Commands {
		predicted[argv(c.Words)] = true
	}
	ran = p.run(t, s)
	for _, got := range ran {
		if !predicted[got] {
			t.Errorf("%q ran %q, which is none of %v", s, got, a.Commands)
		}
	}
	return ran, true
}

// TestParserDiff gives random texts to bash and to the analysis.
func TestParserDiff(t *testing.T) {
	p := newProbes(t, "p1", "p2", "p3", "a", "b", "EOF", "0", "1")
	r := rand.New(rand.NewPCG(5, 6))
	taken := 0
	for i := 0; taken < randomTexts && i < 60*randomTexts; i++ {
		if s := soup(r); p.checkDiff(t, s) {
			taken++
		}
	}
	if taken < randomTexts/2 {
		t.Errorf("only %d texts were literal", taken)
	}
}

func FuzzParserDiff(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		f.Add(soup(r))
	}
	f.Add("p2 a$'a\\1b\\n'") // the byte that probes use to encode a newline
	p := newProbes(f, "p1", "p2", "p3", "a", "b", "EOF", "0", "1")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 200 || strings.ContainsAny(s, "\x00") {
			return
		}
		// Only probes may run, under any name.
		for _, c := range Analyse(s, Options{Dir: p.dir}).Commands {
			if !slices.Contains(p.names, c.Text) && !slices.Contains(p.names, c.Name) || strings.Contains(c.Text, "/") {
				return
			}
		}
		p.checkDiff(t, s)
	})
}

// listing returns every file below a folder, with all properties that a command
// could change.
func listing(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano(), changed(info))
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s += fmt.Sprintf(" %x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			s += " " + to
		}
		out[path] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// differs returns the names of files that differ between two listings.
func differs(a, b map[string]string) []string {
	var out []string
	for k, v := range a {
		if b[k] != v {
			out = append(out, fmt.Sprintf("%s: %s, then %s", k, v, b[k]))
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, k+" is new")
		}
	}
	return out
}
