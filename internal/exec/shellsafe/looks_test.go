package shellsafe

import "testing"

// TestLooks checks which commands look: they change nothing but are not limited to files.
func TestLooks(t *testing.T) {
	for _, s := range corpus(t, "looks.txt") {
		a := Analyse(s, ws)
		if !a.Looks || a.ReadOnly || a.Script != "" || a.Reason == "" || a.Views {
			t.Errorf("%q: %+v", s, a)
		}
		for _, c := range a.Commands {
			if !c.ReadOnly {
				t.Errorf("%q: %q is not read-only", s, c.Text)
			}
		}
	}
	for _, s := range corpus(t, "not_looks.txt") {
		if a := Analyse(s, ws); a.Looks || a.ReadOnly {
			t.Errorf("%q looks", s)
		}
	}
	for _, s := range corpus(t, "more_not_readonly.txt") {
		if Analyse(s, ws).Looks {
			t.Errorf("%q looks", s)
		}
	}
}

// TestViews checks which commands only read where the kernel prevents changes: their form or their
// words are not known enough for a script.
func TestViews(t *testing.T) {
	for command, want := range map[string]bool{
		"for i in 1 2 3; do echo $i; done": true, `for f in *.go; do wc -l "$f"; done`: true, "F=a.txt; wc -l \"$F\"": true, "export LANG=C; ls": true,
		"if [ -f a ]; then cat a; fi": true, "while read -r l; do echo \"$l\"; done < a.txt": false, "case x in x) ls;; esac": true, "time ls": true, "ls |& head": true,
		"x --version": true, "./x --help": true, "x --version | head -1": true, "kubectl --help": true, "cd \"$D\" && ls": true, `sed -n "${n}p" a`: true, "x=1; seq 1 $x": true,
		"ls": false, "touch a": false, "for i in 1; do touch $i; done": false, "F=a; cat a > $F": false, "./x --version > y": false, "./gradlew --version": false,
		"x": false, "./x": false, "x --version; ./x": false, "f() { ls; }; f": false, "ls &": false, "$X --version": false, "PAGER=x; ls": false, "sh -c ls": false,
		`sort "-o$x" a`: false, `find . $x`: true, "gh pr list && git status": false, "gh pr list; make": false, "curl -s localhost | python3 x.py": false,
	} {
		if a := Analyse(command, ws); a.Views != want {
			t.Errorf("%q: %v (%s)", command, a.Views, a.Reason)
		}
	}
}
