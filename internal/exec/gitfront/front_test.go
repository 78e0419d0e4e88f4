package gitfront

import (
	"strings"
	"testing"
)

// TestRefusal checks the errors that a model sees.
func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		paths  []string
		hidden bool
		want   string
	}{
		{[]string{".npmrc"}, false, "fatal: git merge would change .npmrc, which is protected. Nothing was changed; NEXT\n"},
		{[]string{"1", "2", "3", "4", "5", "6", "7"}, false, "fatal: git merge would change 1, 2, 3, 4, 5 and 2 more, which is protected. Nothing was changed; NEXT\n"},
		{[]string{".env"}, true, "fatal: git merge would write .env, which the user's rules hide from commands. Nothing was changed; name the other files, as in git commit FILES, or ask the user to run it\n"},
	} {
		if got := refusal("merge", tt.paths, tt.hidden, "NEXT"); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestNext checks the next steps after a refusal.
func TestNext(t *testing.T) {
	const so = ": then it is opened, or the user is asked"
	for _, tt := range []struct {
		f      front
		action string // of GIT_REFLOG_ACTION
		want   string
	}{
		{front{verb: "checkout", rest: []string{"b"}}, "", "run this git checkout as a command of its own, in literal words" + so},
		{front{verb: "checkout", Paths: Paths{Shown: true}}, "", "ask the user to run it"},
		{front{verb: "merge", rest: []string{"FETCH_HEAD"}}, "pull -q", "it was fetched, so run git merge FETCH_HEAD as a command of its own" + so},
		{front{verb: "rebase", rest: []string{"--onto", "1", "1"}}, "pull --rebase", "it was fetched, so run git rebase FETCH_HEAD as a command of its own" + so},
		{front{verb: "am"}, "", "store the patch in a file and run git am FILE as a command of its own" + so},
		{front{verb: "apply", rest: []string{"--index", "-"}}, "", "store the patch in a file and run git apply FILE as a command of its own" + so},
		{front{verb: "apply", rest: []string{"p"}}, "", "run this git apply as a command of its own, in literal words" + so},
	} {
		t.Setenv("GIT_REFLOG_ACTION", tt.action)
		if got := tt.f.next(); got != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.f.verb, tt.f.rest, got, tt.want)
		}
	}
}

// TestStubQuotes checks that the script names its folder safely.
func TestStubQuotes(t *testing.T) {
	if got := quote("/a'b"); got != `'/a'\''b'` {
		t.Error(got)
	}
}

// TestSingle checks that flags that share a word are found.
func TestSingle(t *testing.T) {
	for _, tt := range []struct{ verb, words, want string }{
		{"checkout", "-qb new feat", "-q -b new feat"},
		{"checkout", "-qbnew feat", "-q -b new feat"},
		{"checkout", "-b -qf -qf", "-b -qf -q -f"},
		{"stash", "push -qum text f", "push -q -u -m text f"},
		{"merge", "-qsours hid", "-q -s ours hid"},
		{"merge", "-qSkey hid", "-q -Skey hid"},
		{"restore", "-SWs feat -- -SW", "-S -W -s feat -- -SW"},
		{"am", "-3p1", "-3p1"},
		{"apply", "-p1", "-p 1"},
		{"clean", "-fdxe*.q", "-f -d -x -e *.q"},
		{"reset", "--hard - HEAD", "--hard - HEAD"},
	} {
		if got := strings.Join(single(tt.verb, strings.Fields(tt.words)), " "); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.verb, tt.words, got, tt.want)
		}
	}
}

// TestFlags checks that the beginning of a long flag is taken for it, with its value.
func TestFlags(t *testing.T) {
	for _, words := range []string{"-s c --staged f", "--source c --staged f", "--sour c --stage f", "--sourc=c --staged f"} {
		f := front{verb: "restore", rest: strings.Fields(words)}
		values := f.values("-s", "--source")
		before, _ := f.operands("-s", "--source")
		if !f.has("--staged") || strings.Join(values, " ") != "c" || strings.Join(before, " ") != "f" {
			t.Errorf("%s: values %q, operands %q", words, values, before)
		}
	}
}

// TestNames checks which paths the headers of a patch name.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		line, path string
		want       bool
	}{
		{"diff --git a/.env b/.env", ".env", true},
		{"+++ b/.env\t2026", ".env", true},
		{"+++ b/secrets/a", "secrets", true},
		{`+++ "b/.env"`, ".env", true},
		{"rename to .env", ".env", true},
		{"--- a/sub/.env", ".env", true},
		{"diff --git a/.env.example b/.env.example", ".env", false},
		{"diff --git a/x.env b/x.env", ".env", false},
		{"+++ b/secretsauce/a", "secrets", false},
		{"++ b/.env", ".env", false},
	} {
		if got := names([]byte(tt.line+"\n"), tt.path); got != tt.want {
			t.Errorf("%q: %v", tt.line, got)
		}
	}
}
