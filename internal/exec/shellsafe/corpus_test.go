package shellsafe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ws holds the options that the corpus assumes.
var ws = Options{Dir: "/ws", Roots: []string{"/ws"}, Home: "/home/u"}

// corpus returns the commands of a file in testdata.
func corpus(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if !strings.HasPrefix(line, "## ") {
			out = append(out, decode(t, line))
		}
	}
	return out
}

// decode resolves the escapes of the corpus.
func decode(t testing.TB, s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		n := 0
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case '\\', '"':
			b.WriteByte(s[i])
		case 'x':
			n = 2
		case 'u':
			n = 4
		case 'U':
			n = 8
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
		if n > 0 {
			v, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			if n == 2 {
				b.WriteByte(byte(v))
			} else {
				b.WriteRune(rune(v))
			}
			i += n
		}
	}
	return b.String()
}

func TestNotReadOnly(t *testing.T) {
	for _, name := range []string{"bash_not_readonly.txt", "more_not_readonly.txt"} {
		for _, s := range corpus(t, name) {
			a := Analyse(s, ws)
			if a.ReadOnly {
				t.Errorf("%q is read-only as %s", s, a.Script)
			}
			if a.Reason == "" || a.Script != "" || a.Env != nil {
				t.Errorf("%q: no reason, or a script", s)
			}
		}
	}
}

func TestReadOnly(t *testing.T) {
	for _, name := range []string{"bash_readonly.txt", "more_readonly.txt"} {
		for _, s := range corpus(t, name) {
			a := Analyse(s, ws)
			if !a.ReadOnly {
				t.Errorf("%q is not read-only: %s", s, a.Reason)
				continue
			}
			if a.Reason != "" || a.Unresolved != "" {
				t.Errorf("%q: read-only, and %s%s", s, a.Reason, a.Unresolved)
			}
			sameAgain(t, s, a, ws)
		}
	}
}

// sameAgain fails unless the analysis of a script agrees with that of the original
// text and generates the same script.
func sameAgain(t testing.TB, s string, a *Analysis, o Options) {
	t.Helper()
	b := Analyse(a.Script, o)
	if !b.ReadOnly {
		t.Errorf("%q: its script is not read-only: %s\n%s", s, b.Reason, a.Script)
	} else if b.Script != a.Script {
		t.Errorf("%q: its script is written anew differently\n%s\n%s", s, a.Script, b.Script)
	}
}
