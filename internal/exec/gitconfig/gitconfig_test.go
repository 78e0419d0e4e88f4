package gitconfig

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// listed returns the settings of a file as git lists them; nil if git refuses it.
func listed(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "config", "-f", path, "--no-includes", "-l", "-z").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	} else if err != nil {
		t.Skip(err)
	}
	list := []string{}
	for e := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if e != "" {
			list = append(list, blanks(e))
		}
	}
	return list
}

// blanks replaces white space in values: versions of git differ in it.
func blanks(s string) string { return strings.NewReplacer("\t", " ", "\r", " ").Replace(s) }

func parsed(text string) []string {
	f, err := Parse([]byte(text))
	if err != nil {
		return nil
	}
	list := []string{}
	for _, e := range f.Entries {
		k := strings.TrimPrefix(e.Key.String(), ".")
		if !e.Bare {
			k += "\n" + e.Value
		}
		list = append(list, blanks(k))
	}
	return list
}

// pieces are the pieces of random files.
var pieces = []string{
	"[core]", "[core]", "[Core]\n", "[remote \"o\"]\n", "[a.b]\n", "[a \"B\"]", "[a \"x\\\"y\\\\z\"]\n", "[a\t \"q\"]\n", "[a-1]\n", "[a \"]\"]\n", "[a\n", "[a \"b]\n", "[a \"b\" ]\n", "[ a]\n",
	"x = 1\n", "\ty=2\n", "Name = a b  c\n", "b\n", "b ", "b=\n", " = ", "=", "x", "url = https://e/x # c\n", "v = \"a;b\" ; d\n", "v = a\\\nb\n", "v = a\\\r\n b\n", "v = \\t\\n\\b\\\\\\\"\n", "v = \"a\\\nb\"\n", "v = \"open\n", "v = \\q\n",
	"\n", "\r\n", "\r", " ", "\t", "# comment\n", "; [core]\n", "#", "\\", "\"", "\"\"", "\f", "\v", "é", "\xff", "x_y = 1\n", "1x = 2\n", "x-y = 3\n", ".", "]", "[", "\ufeff", "[include]\npath = /nowhere\n", "fsmonitor = ./evil", "  \"a  b\"  ", "a;b\n",
}

var noName = regexp.MustCompile(`\[\s*\]|\[\.|\.\]|\.\s*"|""|\\\r?$|\\\n?$`)

func TestParseAsGit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range testscale.N(300, 10_000) {
		var b strings.Builder
		if r.IntN(30) == 0 {
			b.WriteString("\ufeff")
		}
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		compare(t, b.String())
	}
}

func compare(t *testing.T, text string) {
	t.Helper()
	want, got := listed(t, text), parsed(text)
	if got == nil && want != nil && noName.MatchString(text) {
		return // Parse may refuse more
	}
	if strings.Join(want, "\x00") != strings.Join(got, "\x00") || (want == nil) != (got == nil) {
		t.Errorf("%q: %q, git has %q", text, got, want)
	}
}

// FuzzCarry checks that Carry brings in nothing that was refused, whatever the texts are.
func FuzzCarry(f *testing.F) {
	f.Add("[core]\n\tbare = false\n", "[core]\n\tbare = false\n\thooksPath = x\n[user]\n\tname = y\n", "[core]\n\tbare = false\n")
	f.Add("[core] editor = vi\n", "[core] editor = evil ; x\n[branch \"a\"] remote = .\n", "[core] editor = vi\n[x]\n")
	f.Fuzz(func(t *testing.T, from, to, onto string) {
		for _, onto := range []string{onto, from} {
			out, _, ok := Carry([]byte(from), []byte(to), []byte(onto), Judge{}.Allows)
			if !ok {
				if string(out) != onto {
					t.Fatalf("%q became %q", onto, out)
				}
				continue
			}
			before, _ := Parse([]byte(onto))
			after, err := Parse(out)
			if err != nil {
				t.Fatal(err)
			}
			was, is := mustParse(t, from), mustParse(t, to)
			for _, k := range keys(before, after) {
				if !same(before.Values(k), after.Values(k)) && !(Judge{}).Allows(was, is, k) {
					t.Fatalf("%s changed: %q, %q, %q: %q", k, from, to, onto, out)
				}
			}
		}
	})
}

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestKeys has settings of both classes: those that run nothing, and others.
func TestKeys(t *testing.T) {
	outside := "/srv/repo"
	j := Judge{Local: func(path string) bool { return path == outside }, Worktree: func(v string) bool { return v == "../../../sub" }}
	for text, want := range map[string]bool{
		"user.name=A B": true, "user.email=a@b.c": true, "user.signingkey=ABC": true, "author.name=x": true, "core.bare=false": true, "core.filemode=true": true,
		"core.ignorecase=true": true, "core.autocrlf=input": true, "core.sparseCheckout=true": true, "core.sparseCheckoutCone=true": true, "core.fsmonitor=false": true, "core.quotePath=off": true,
		"init.defaultBranch=main": true, "extensions.worktreeConfig=true": true, "extensions.objectFormat=sha256": true, "push.default=current": true, "push.autoSetupRemote=true": true,
		"pull.rebase=true": true, "pull.ff=only": true, "fetch.prune=true": true, "merge.conflictStyle=zdiff3": true, "rebase.autoStash=true": true, "commit.gpgsign=false": true,
		"commit.template=.gitmessage": true, "diff.algorithm=histogram": true, "color.ui=auto": true, "color.branch.current=red": true, "advice.detachedHead=false": true, "gc.auto=0": true,
		"rerere.enabled=true": true, "blame.ignoreRevsFile=.git-blame-ignore-revs": true, "http.postBuffer=1000": true, "lfs.repositoryformatversion=0": true, "remote.pushDefault=.": true,
		"remote.o.url=https://example.com/a.git": true, "remote.o.url=git@github.com:a/b.git": true, "remote.o.url=ssh://git@example.com/a": true, "remote.o.url=" + outside: true,
		"remote.o.url=file://" + outside: true, "remote.o.fetch=+refs/heads/*:refs/remotes/o/*": true, "remote.o.pushurl=https://example.com/a": true, "remote.o.tagOpt=--no-tags": true,
		"remote.o.mirror=true": true, "remote.o.prune=true": true, "branch.x.remote=.": true, "branch.x.merge=refs/heads/main": true, "branch.x.rebase=true": true, "branch.x.description=a :: b": true,
		"branch.x.pushRemote=https://example.com/a": true, "branch.x.vscode-merge-base=origin/main": true, "branch.autoSetupMerge=always": true, "submodule.s.url=https://example.com/a": true,
		"submodule.s.active=true": true, "submodule.s.update=none": true, "submodule.s.branch=main": true, "submodule.active=.": true, "submodule.recurse=true": true, "core.worktree=../../../sub": true,
		"diff.go.xfuncname=^func": true, "filter.lfs.clean=git-lfs clean -- %f": true, "filter.lfs.required=true": true, "gitflow.branch.master=main": true, "status.showUntrackedFiles=no": true,

		"core.hooksPath=.hooks": false, "core.fsmonitor=./evil": false, "core.fsmonitor=true": false, "core.fsmonitor": false, "core.sshCommand=x": false, "core.editor=x": false, "core.pager=x": false,
		"core.askPass=x": false, "core.gitProxy=x": false, "core.attributesFile=x": false, "core.worktree=/": false, "core.worktree=../evil": false, "core.alternateRefsCommand=x": false, "core.excludesFile=x": false,
		"core.new=x": false, "alias.st=status": false, "alias.st=!x": false, "filter.x.clean=x": false, "filter.x.smudge=x": false, "filter.x.process=x": false, "filter.lfs.clean=./git-lfs": false,
		"diff.external=x": false, "diff.x.command=x": false, "diff.x.textconv=x": false, "diff.tool=../x": false, "difftool.x.cmd=x": false, "merge.x.driver=x": false, "merge.tool=../x": false,
		"mergetool.x.cmd=x": false, "mergetool.x.path=x": false, "credential.helper=x": false, "credential.https://example.com.helper=x": false, "include.path=x": false, "includeIf.gitdir:/.path=x": false,
		"gpg.program=x": false, "gpg.ssh.program=x": false, "gpg.ssh.defaultKeyCommand=x": false, "url.ext::x.insteadOf=https://": false, "url.https://e/.insteadOf=g:": false,
		"remote.o.url=ext::sh -c x": false, "remote.o.url=x::https://e": false, "remote.o.url=-ux": false, "remote.o.url=ssh://-oProxyCommand=x/a": false, "remote.o.url=./evil.git": false, "remote.o.url=/tmp/evil": false,
		"remote.o.pushurl=ext::x": false, "remote.o.uploadpack=x": false, "remote.o.receivepack=x": false, "remote.o.vcs=x": false, "remote.o.proxy=x": false, "protocol.ext.allow=always": false, "protocol.allow=always": false,
		"branch.x.remote=./evil": false, "branch.x.remote=nowhere": false, "branch.x.mergeOptions=-s x": false, "remote.pushDefault=./evil": false, "submodule.s.update=!x": false, "submodule.s.url=ext::x": false,
		"gc.recentObjectsHook=x": false, "uploadpack.packObjectsHook=x": false, "sequence.editor=x": false, "pager.log=x": false, "pager.status=true": false, "interactive.diffFilter=x": false, "trailer.x.command=x": false, "trailer.x.cmd=x": false,
		"man.viewer=x": false, "man.x.cmd=x": false, "browser.x.cmd=x": false, "web.browser=x": false, "instaweb.httpd=x": false, "sendemail.smtpServer=/x": false, "guitool.x.cmd=x": false,
		"help.autoCorrect=immediate": false, "init.templateDir=x": false, "safe.directory=*": false, "http.proxy=x": false, "http.sslVerify=false": false, "http.cookieFile=x": false, "imap.tunnel=x": false,
		"lfs.customtransfer.x.path=x": false, "lfs.url=ext::x": false, "gitflow.path.hooks=x": false, "format.pretty=%G?": false, "log.showSignature=true": false, "trace2.eventTarget=x": false, "a.b=c": false, "maintenance.strategy=x": false, "pull.octopus=x": false, "rebase.instructionFormat=x": false, "ssh.variant=x": false,
	} {
		key, value, has := strings.Cut(text, "=")
		i, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if i != last && key == "credential.https://example.com.helper" {
			value, has = "x", true
		}
		e := Entry{Key: Key{Section: strings.ToLower(key[:i]), Name: strings.ToLower(key[last+1:])}, Spelled: key[last+1:], Value: value, Bare: !has}
		if i != last {
			e.Sub = key[i+1 : last]
		}
		const before = "[core]\n\trepositoryformatversion = 0\n[remote \"up\"]\n\turl = ./evil2\n"
		to := set([]byte(before), e.Key, []Entry{e})
		out, refused, ok := Carry([]byte(before), to, []byte(before), j.Allows)
		if !ok {
			t.Errorf("%s: not carried: %q", text, to)
			continue
		}
		if got := len(refused) == 0; got != want || got != bytes.Equal(out, to) || !got && string(out) != before || !got && refused[0] != e.Section+key[i:] {
			t.Errorf("%s: %v, want %v; refused %q, %q", text, got, want, refused, out)
		}
	}
}

func TestCarry(t *testing.T) {
	const base = "# mine\n[core]\n\tbare = false\n\teditor = vi ; mine\n[remote \"o\"]\n\turl = ./local\n\tuploadpack = mine\n"
	for _, tc := range []struct{ name, from, to, onto, want, refused string }{
		{"nothing", base, base, base, base, ""},
		{"a harmless key", base, base + "[user]\n\tname = x\n", base, base + "[user]\n\tname = x\n", ""},
		{"comments stay", base, "# new\n" + base, base, "# new\n" + base, ""},
		{"an identity, a remote and hooks", "", "[user]\n\temail = a\n[core]\n\thooksPath = .hooks\n[remote \"o\"]\n\turl = https://e/x\n", "", "[user]\n\temail = a\n[remote \"o\"]\n\turl = https://e/x\n", "core.hooksPath"},
		{"in the line of the section", "[core]\n\tbare = false\n", "[core] fsmonitor = x\n\tbare = false\n", "[core]\n\tbare = false\n", "[core]\n\tbare = false\n", "core.fsmonitor"},
		{"a changed value", base, strings.Replace(base, "= vi ; mine", "= evil", 1), base, strings.Replace(base, " ; mine", "", 1), "core.editor"},
		{"a removed value", base, strings.Replace(base, "\teditor = vi ; mine\n", "", 1), base, base, "core.editor"},
		{"a second value", base, strings.Replace(base, "vi ; mine\n", "vi ; mine\n\teditor = evil\n", 1), base, strings.Replace(base, " ; mine", "", 1), "core.editor"},
		{"a renamed remote", base, strings.Replace(base, `"o"`, `"up"`, 1), base, strings.Replace(base, `"o"`, `"up"`, 1), ""},
		{"a renamed branch", "[branch \"a\"]\n\tmerge = refs/heads/a\n", "[branch \"b\"]\n\tmerge = refs/heads/a\n", "[branch \"a\"]\n\tmerge = refs/heads/a\n", "[branch \"b\"]\n\tmerge = refs/heads/a\n", ""},
		{"a removed remote", base, "# mine\n[core]\n\tbare = false\n\teditor = vi ; mine\n", base, "", "remote.o.uploadpack"},
		{"the user changed it meanwhile", base, base + "[user]\n\tname = x\n", base + "[alias]\n\tx = !y\n", base + "[alias]\n\tx = !y\n[user]\n\tname = x\n", ""},
		{"both, and a refused one", base, base + "[user]\n\tname = x\n[alias]\n\tx = !evil\n", base + "[alias]\n\tx = !y\n", base + "[alias]\n\tx = !y\n[user]\n\tname = x\n", "alias.x"},
		{"a branch of a refused remote", "", "[remote \"e\"]\n\turl = ./evil\n\tfetch = x\n[branch \"b\"]\n\tremote = e\n", "", "[remote \"e\"]\n\tfetch = x\n", "remote.e.url branch.b.remote"},
		{"CRLF", "[core]\r\n\tbare = false\r\n", "[core]\r\n\tbare = false\r\n\tpager = x\r\n", "[core]\r\n\tbare = false\r\n", "[core]\r\n\tbare = false\r\n", "core.pager"},
		{"a value in two lines", "", "[core]\n\tbare = false\n\tpager = a \\\n   b\n\teol = lf\n", "", "[core]\n\tbare = false\n\teol = lf\n", "core.pager"},
		{"two sections in a line", "", "[user] name = x\n[core][filter \"x\"] clean = evil\n", "", "", "filter.x.clean"},
		{"without a line end", "[user]\n\tname = x", "[user]\n\tname = x\n[branch \"b\"]\n\tmerge = y", "[user]\n\tname = z", "[user]\n\tname = z\n[branch \"b\"]\n\tmerge = y\n", ""},
	} {
		out, refused, ok := Carry([]byte(tc.from), []byte(tc.to), []byte(tc.onto), Judge{}.Allows)
		if !ok || tc.want != "" && string(out) != tc.want && !sameSettings(t, string(out), tc.want) || strings.Join(refused, " ") != tc.refused {
			t.Errorf("%s: %v, refused %q:\n%s\nwant\n%s", tc.name, ok, refused, out, tc.want)
		}
	}
	for _, bad := range []string{"[core\n", "[core]\n\tx = \"\n", "x\x00"} {
		if out, _, ok := Carry(nil, []byte(bad), nil, Judge{}.Allows); ok || len(out) > 0 {
			t.Errorf("%q: %q", bad, out)
		}
	}
}

func sameSettings(t *testing.T, a, b string) bool {
	x, y := mustParse(t, a), mustParse(t, b)
	for _, k := range keys(x, y) {
		if !same(x.Values(k), y.Values(k)) {
			return false
		}
	}
	return true
}
