package shellsafe

import (
	"os/exec"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// TestDelimiters checks that the parser ends here-documents where bash does, for each word that
// counts as plain, and that such words need no question.
func TestDelimiters(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	// Lines that another reader may take for the end.
	near := func(end string) string {
		return "b $HOME `x`\n" + end + " \n " + end + "\n" + end + "x\n'" + end + "'\n\"" + end + "\"\n\\" + end + "\n" + strings.ToLower(end) + "_\n" + strings.TrimSuffix(end, end[len(end)-1:]) + "\n\t\n"
	}
	for _, c := range []struct {
		word, end string
		plain     bool
	}{
		{"'EOF'", "EOF", true}, {`"EOF"`, "EOF", true}, {`\EOF`, "EOF", true}, {"'E O F'", "E O F", true}, {`"E O F"`, "E O F", true}, {"'x.y'", "x.y", true}, {`"END;"`, "END;", true},
		{"'!'", "!", true}, {"'@#%^&*()'", "@#%^&*()", true}, {"'<<'", "<<", true}, {"'{}'", "{}", true}, {"'~'", "~", true}, {"'#'", "#", true}, {"'a|b'", "a|b", true},
		{"' E'", " E", false}, {"'E\tF'", "E\tF", false}, {`"E'F"`, "E'F", false}, {`'E"F'`, `E"F`, false}, {"'É'", "É", false}, {"E'O'F", "EOF", false}, {`E\OF`, "EOF", false}, {`"$E"`, "$E", false},
	} {
		for _, op := range []string{"<<", "<<-", "<< "} {
			text := "cat " + op + c.word + "\n" + near(c.end) + c.end + "\necho after\n"
			f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
			if err != nil {
				if c.plain {
					t.Errorf("%q: %v", text, err)
				}
				continue
			}
			r := f.Stmts[0].Redirs[0]
			quoted, plain := delimiter(r.Word)
			if plain != c.plain || plain && !quoted {
				t.Errorf("%s is plain: %v, quoted: %v", c.word, plain, quoted)
			}
			if !plain {
				continue
			}
			out, err := exec.Command(bash, "-c", text).CombinedOutput()
			if err != nil {
				t.Fatalf("%q: %v\n%s", text, err, out)
			}
			body := ""
			if r.Hdoc != nil {
				body = r.Hdoc.Lit()
			}
			if op == "<<-" { // bash removes tabs
				body = strings.ReplaceAll(body, "\t\n", "\n")
			}
			if got := body + "after\n"; got != string(out) {
				t.Errorf("%q\n\tthe parser reads %q\n\tbash %q", text, got, out)
			}
			if a := Analyse(text, Options{}); a.Unresolved != "" || len(a.Commands) != 2 {
				t.Errorf("%q: %q, %d commands", text, a.Unresolved, len(a.Commands))
			}
			joined := strings.Replace(text, "echo after", "echo \\\nafter", 1)
			if got, want := Normalize(joined), strings.Replace(joined, "\\\nafter", "after", 1); got != want {
				t.Errorf("%q is normalized to\n%q", joined, got)
			}
		}
	}
	for _, word := range []string{"EOF", "END-TAG", "E_1", "@", "====", "x.y", "a:b", "a,b", "+", "a#b", "{", "}", "!", "{a,b}", "a*", "[a]", "?", "~", "~/x", "%", "^", "a=b", "a/b", "if", "EOF}", "#x", "@(a)", "x[1]=2", "-"} {
		text := "cat << " + word + "\nb\n" + word + " \n" + word + "x\n" + word + "\necho after\n"
		out, err := exec.Command(bash, "-c", text).CombinedOutput()
		a := Analyse(text, Options{})
		switch known := a.Unresolved == "" && a.Syntax == ""; {
		case known && (err != nil || string(out) != "b\n"+word+" \n"+word+"x\nafter\n" || len(a.Commands) != 2):
			t.Errorf("%q: %q, %v, %d commands", text, out, err, len(a.Commands))
		case !known && err == nil && word != "@(a)" && word != "x[1]=2":
			t.Errorf("%q is not known: %s", text, a.Unresolved)
		}
	}
}
