package shellsafe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// TestKnownWords checks the words of commands whose variables, loops and braces are known.
func TestKnownWords(t *testing.T) {
	for text, want := range map[string]string{
		`d=src; ls "$d"`:                                       `d=src|ls src`,
		`d=src && ls $d/a ${d}b`:                               `d=src|ls src/a srcb`,
		`export d=src; ls $d`:                                  `export d=src|ls src`,
		`a=x b=$a; ls $b`:                                      `a=x b=$a|ls x`,
		`d=; ls "$d"`:                                          `d=|ls `,
		`d=a; mkdir $d/{b,c} "$d"{,1}`:                         `d=a|mkdir a/b a/c a a1`,
		`d='a b'; ls "$d"`:                                     `d='a b'|ls a b`,
		`for f in a b; do cat $f; done`:                        `cat a|cat b`,
		`for f in {a,b}.go; do cat "$f"; echo x; done`:         `cat a.go|echo x|cat b.go`,
		`for f in src/*.go; do cat "$f"; done`:                 `cat src/*.go`,
		`for i in 1 2; do for j in a b; do p $i$j; done; done`: `p 1a|p 1b|p 2a|p 2b`,
		`x=a; (y=b; p $x $y); p $x`:                            `x=a|y=b|p a b|p a`,
		`if true; then x=a; p $x; fi`:                          `true|x=a|p a`,
		`mkdir -p a/{b,c}/{d,e}`:                               `mkdir -p a/b/d a/b/e a/c/d a/c/e`,
		`touch x{1..3}.go`:                                     `touch x1.go x2.go x3.go`,
		`cp a{,.old}`:                                          `cp a a.old`,
		`ls ~/{a,b}`:                                           `ls ~/a ~/b`,
		`echo "$(x=a; ls $x)"`:                                 `echo $(x=a; ls $x)|x=a|ls a`,
		`b=./x; $b a; "$b/c" d`:                                `b=./x|./x a|./x/c d`,
		`d=a; [ -n "$X" ] && [ "$Y" = b ] && ls $d`:            `d=a|[ -n $X ]|[ $Y = b ]|ls a`,
		// The rest is not known.
		`o=-v; d=a; [ "$o" 'b[d=5]' ]; ls $d`:        `o=-v|d=a|[ $o b[d=5] ]|ls $d`,
		`d=a; [ -v 'b[d=5]' ]; ls $d`:                `d=a|[ -v b[d=5] ]|ls $d`,
		`d=a; [ ! "$o" "$e" ]; ls $d`:                `d=a|[ ! $o $e ]|ls $d`,
		`d=a; [ x -a "$o" "$e" ]; ls $d`:             `d=a|[ x -a $o $e ]|ls $d`,
		`d=a; [ $o ]; ls $d`:                         `d=a|[ $o ]|ls $d`,
		`b=read; d=a; $b d; ls $d`:                   `b=read|d=a|$b d|ls $d`,
		`b=re; d=a; ${b}ad d; ls $d`:                 `b=re|d=a|${b}ad d|ls $d`,
		`for b in x read; do d=a; $b d; ls $d; done`: `d=a|$b d|ls $d`,
		`ls $d; d=src`:                               `ls $d|d=src`,
		`d=a; d=b; ls $d`:                            `d=a|d=b|ls $d`,
		`d=a; [ -f x ] && d=b; ls $d`:                `d=a|[ -f x ]|d=b|ls $d`,
		`false && d=a; ls $d`:                        `false|d=a|ls $d`,
		`p || d=a; ls $d`:                            `p|d=a|ls $d`,
		`d=a | cat; ls $d`:                           `d=a|cat|ls $d`,
		`(d=a); ls $d`:                               `d=a|ls $d`,
		`d=a & ls $d`:                                `d=a|ls $d`,
		`d=a p; ls $d`:                               `p|ls $d`,
		`if p; then d=a; fi; ls $d`:                  `p|d=a|ls $d`,
		`for f in a b; do p; done; ls $f`:            `p|ls $f`,
		`d=a; read d; ls $d`:                         `d=a|read d|ls $d`,
		`d=a; eval x; ls $d`:                         `d=a|eval x|x|ls $d`,
		`d=a; . ./x; ls $d`:                          `d=a|. ./x|ls $d`,
		`d=a; printf -v d b; ls $d`:                  `d=a|printf -v d b|ls $d`,
		`d=a; $p d; ls $d`:                           `d=a|$p d|ls $d`,
		`declare -i d; d=a; ls $d`:                   `declare -i d|d=a|ls $d`,
		`d=a; ls $((d=1)) $d`:                        `d=a|ls $((d=1)) $d`,
		`d=a; p ${d:=b}; ls $d`:                      `d=a|p ${d:=b}|ls $d`,
		`f() { d=b; }; d=a; ls $d`:                   `d=b|d=a|ls $d`,
		`d='a b'; ls $d`:                             `d='a b'|ls $d`,
		`d=*; ls $d`:                                 `d=*|ls $d`,
		`d=a; p {d}>x; ls $d`:                        `d=a|p|ls $d`,
		`RANDOM=5; ls $RANDOM`:                       `RANDOM=5|ls $RANDOM`,
		`d=a; sh -c 'ls $d'`:                         `d=a|sh -c ls $d|ls $d`,
		`for f in *.go; do cat $f; done`:             `cat $f`,
		`for f in *.go; do cat "$f.old"; done`:       `cat $f.old`,
		`for f in $(ls); do cat "$f"; done`:          `ls|cat $f`,
		`ls {a,$b}`:                                  `ls {a,$b}`,
		`ls {a..c}`:                                  `ls {a..c}`,
		`ls '{a,b}'`:                                 `ls {a,b}`,
		`set +B; ls {a,b}`:                           `set +B|ls {a,b}`,
		`for f in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do p $f; done`: `p $f`,
	} {
		var got []string
		for _, c := range Analyse(text, Options{Dir: "/ws", Home: "/home/u"}).Commands {
			got = append(got, c.Text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %s, want %s", text, strings.Join(got, "|"), want)
		}
	}
	// A loop within the limit does not make a text too long.
	if a := Analyse("for i in "+strings.Repeat("x ", maxUnrolled)+"; do p $i; done; "+strings.Repeat("q; ", MaxCommands-2), Options{}); a.Unresolved != "" {
		t.Error(a.Unresolved)
	}
}

// variables returns random texts that set and use variables, with braces.
func variables(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	name := func() string { return pick("x", "y", "z") }
	word := func() string {
		return pick("$x", `"$x"`, "$y", `"$y"`, "${z}", "a$x", `"$x-$y"`, "{a,b}", "a{,b}", "{1..3}", "{01..3}", "{b,}{,a}", "{a,{b,1}}", "$x{a,b}", `{"$y",a}`, "a", "'b 1'", "{a}", "a,{b", "{a,b", "a}", "{..,a}", "{1..3..2}", "{3..1}", "''", "{,}", "x{a,'b}'}", "{a,b}=1", "~a", "$x/{a,b}", "\"$y\"{a,b}", "{a,b}/$x", "${x}/{1..2}")
	}
	value := func() string {
		return pick("a", "b", "p1", "read", "'a b'", "", `"a"`, "1", "$x", `"$y"`, "a=b", "{a,b}", "*", "a:~", "~")
	}
	var stmt func(depth int) string
	stmt = func(depth int) string {
		run := pick("p1", "p2", "p3", "p1", "p2", "p3", "$x", `"$y"`, "${z}", "$x/") + " " + word() + pick("", " "+word())
		set := name() + "=" + value()
		switch k := r.IntN(16); {
		case k < 5 || depth > 2:
			return run
		case k < 9:
			return set
		case k == 9:
			return "for " + name() + " in " + word() + " " + pick("a", "b", "$x", "{a,b}") + "; do " + stmt(depth+1) + "; " + stmt(depth+1) + "; done"
		case k == 10:
			return "(" + stmt(depth+1) + "; " + stmt(depth+1) + ")"
		case k == 11:
			return "if " + run + "; then " + stmt(depth+1) + "; " + pick("", "else "+stmt(depth+1)+"; ") + "fi"
		case k == 12:
			return "{ " + stmt(depth+1) + "; " + stmt(depth+1) + "; }"
		case k == 13:
			return set + " " + run
		case k == 14:
			return pick("export "+set, "unset x", "read y < /dev/null", "declare "+set, "f() { "+set+"; }; f", "eval "+set, "printf -v x b", ": ${x:=b}", ": $((x=1))", "set +B", "IFS=b", "let y=1", "! "+set, "readonly z", "false", "true")
		}
		return "p1 \"$(" + stmt(depth+1) + ")\""
	}
	var b strings.Builder
	for i := range 2 + r.IntN(5) {
		if i > 0 {
			b.WriteString(pick("; ", "; ", "; ", " && ", " || ", " | "))
		}
		b.WriteString(stmt(0))
	}
	return b.String()
}

// TestConstants runs random texts in bash, and checks that it runs no other words than the analysis
// knows.
func TestConstants(t *testing.T) {
	p := newProbes(t, "p1", "p2", "p3", "a", "b", "0", "1")
	r := rand.New(rand.NewPCG(43, 44))
	taken, want := 0, testscale.N(15, 400)
	for i := 0; taken < want && i < 400*want; i++ {
		s := variables(r)
		a := Analyse(s, Options{Dir: p.dir})
		if !strings.ContainsAny(s, "${") || slices.ContainsFunc(a.Commands, func(c Command) bool { return strings.Contains(c.Name, "/") }) {
			continue
		}
		if ran, known := p.checkText(t, s); known && len(ran) > 0 {
			taken++
		}
	}
	if taken < want/2 {
		t.Errorf("only %d texts were known", taken)
	}
}
