package shellsafe

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// destroys returns the first entry of destroyers that covers a part of a text, as
// name and number; "" if there is none.
func destroys(text string) (entry, why string) {
	a := Analyse(text, ws)
	for i := range a.Commands {
		c := &a.Commands[i]
		if why := c.Destructive(); why != "" {
			name := c.Name
			if strings.HasPrefix(name, "mkfs.") {
				name = "mkfs"
			}
			words := c.Words[1:]
			if name == "git" {
				words = afterGlobals(words)
			}
			for n := range destructiveCommands[name] {
				if destructiveCommands[name][n].is(words, c.Inner && c.KnownPrefix != "") {
					return fmt.Sprint(name, " ", n), why
				}
			}
		}
	}
	return "", ""
}

// TestDestructive checks each command against testdata/destructive.txt. Every entry
// of destroyers must be used by a line. Every command that is not always
// destructive must also have a harmless line.
func TestDestructive(t *testing.T) {
	data, err := os.ReadFile("testdata/destructive.txt")
	if err != nil {
		t.Fatal(err)
	}
	met, harmless := map[string]bool{}, map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		sign, text := line[:2], line[2:]
		entry, why := destroys(text)
		if (sign == "! ") != (entry != "") {
			t.Errorf("destructive.txt:%d: %s: %s", i+1, text, why)
		}
		met[entry] = true
		a := Analyse(text, ws)
		if entry == "" && len(a.Commands) > 0 {
			harmless[a.Commands[0].Name] = true
		}
	}
	for name, list := range destructiveCommands {
		always := false
		for n := range list {
			d := &list[n]
			always = always || d.sub == "" && d.flags == "" && d.not == "" && d.args == nil && !d.unknownWords
			if !met[fmt.Sprint(name, " ", n)] {
				t.Errorf("no line meets %s %s %s (%s)", name, d.sub, d.flags, d.why)
			}
			if strings.ContainsAny(d.why, ".\n") || d.why == "" {
				t.Errorf("%s: %q is no clause", name, d.why)
			}
		}
		if !always && !harmless[name] {
			t.Errorf("no harmless line of %s", name)
		}
	}
}

func anyOf(text string, f func(*Command) bool) bool {
	a := Analyse(text, ws)
	for i := range a.Commands {
		if f(&a.Commands[i]) {
			return true
		}
	}
	return false
}

// TestShows tests commands that show secrets, as far as their words reveal it, and
// similar harmless ones.
func TestShows(t *testing.T) {
	for _, c := range []struct {
		name    string
		f       func(*Command) bool
		yes, no []string
	}{
		{
			"PrintsEnvironment", (*Command).PrintsEnvironment,
			[]string{
				"printenv", "printenv HOME", "env", "env -0", "env -u X", "env -i", "env A=b", "/usr/bin/env", "sudo env", "command env", "busybox env", "export", "export -p", "readonly -p", "readonly", "declare", "declare -p", "declare -px", "declare -x",
				"declare -p HOME", "typeset -p", "set", "compgen -v", "compgen -e", "compgen -ev", "compgen -A variable", "compgen -A export", "jq -n env", "jq '$ENV.A' a", "jq -n '$ ENV'", "jq -n '$ #x\n ENV'", "jq 'env|keys' a", "awk 'BEGIN{print ENVIRON[\"A\"]}'", "gawk ENVIRON",
				"echo $API_KEY", "echo ${GITHUB_TOKEN}", "echo \"${#MY_SECRET}\"", "echo ${!DB_PASSWORD}", "curl -u x:$PASSWD y", "git log -S\"$ANTHROPIC_API_KEY\"", "echo $(printenv)", "f() { env; }",
			},
			[]string{
				"env make", "env -i make", "env A=b make", "env -S 'make x'", "env -u X make", "env --help", "env --version", "export A=b", "declare A=b", "declare -x A=b", "declare -f", "readonly A=b", "set -e", "set -- a b", "compgen -c", "compgen -A file",
				"ps e", "jq .env a", "jq .ENV a", "jq '$x' a", "jq '.environment' a", "jq . env.json", "awk '{print}' a", "echo $HOME", "echo $KEYS", "echo $MONKEY", "echo KEY", "echo '$'", "envsubst", "printenvx", "setx",
			},
		},
		{
			"ShowsOthersEnvironment", (*Command).ShowsOthersEnvironment,
			[]string{"ps e", "ps auxe", "ps axeww", "sudo ps e", "ps -auxe", "ps -e -ux", "ps -eHT", "ps -axe", "ps -p 1 e", "ps -o pid e", "ps -u x -C xe"}, []string{"ps aux", "ps -e", "ps -ef", "ps -C node", "ps -u postgres", "ps -o etime", "ps -axo pid,etime", "ps --sort pe", "env", "echo e"},
		},
		{
			"ShowsCredentials", (*Command).ShowsCredentials,
			[]string{
				"cat .git-credentials", "cat d/.netrc", "head ~/.netrc", "cat .git/config", "cat sub/.git/config", "cat .git/conf*", "cat .git-c*", "cat < .netrc", "grep x .git/config", "sudo cat .netrc", "cp .netrc x", "cat ~/.ssh/id_rsa", "cat ~/.aws/credentials", "cd .git && cat config", "tar -cf x .pgpass", "cat .git/../.netrc",
			},
			[]string{
				"ls .git/config", "stat .netrc", "git config --get x", "git config -l", "cat config", "cat git/config", "cat .gitconfig", "cat *", "cat a .gitignore", "cat .git/HEAD", "echo .netrc", "touch .netrc", "cat netrc", "cat src/*",
			},
		},
		{
			"Follows", (*Command).Follows,
			[]string{"find -L . -name x", "find . -follow", "rg -L x", "rg --follow x", "fd -L x", "tree -l", "tree -al", "du -L", "du -shL", "sudo find -L ."},
			[]string{"find . -name -L.txt", "find -P .", "rg -l x", "rg -- -L", "fd -l x", "tree -L 2", "du -sh", "ls -L a", "grep -L x a"},
		},
		{
			"OtherHome", (*Command).OtherHome,
			[]string{"cat ~root/x", "ls ~other", "cat < ~root/x", "cat ~+/x", "echo x > ~root/y"},
			[]string{"cat ~/x", "ls ~", "git show HEAD~1", "cat '~root'", "cat a~b"},
		},
		{
			"Edits", (*Command).Edits,
			[]string{"mkdir x", "mkdir -p x/y", "touch x y", "rm -rf x", "rm src/*.go", "rm {a,b}", "rm -- -x", "rmdir x", "mv a b", "mv -t d a", "cp a b", "cp -r a b", "cp -a a ~/b", "sed -i s/a/b/ x", "sed -i -E 's/a/b/;5d' x", "sed -i /x/d y"},
			[]string{
				"mkdir $X", "touch \"$(x)\"", "rm *", "rm {a,$X}", "rm $HOME/x", "sudo rm x", "/bin/rm x", "./rm x", "A=b rm x", "rm x > y", "f() { rm x; }", "ln -s a b", "chmod +x a", "echo x > a", "tee a",
				"sed s/a/b/ x", "sed -i.bak s/a/b/ x", "sed -i -e s/a/b/ x", "sed -i 1e x", "sed -i s/a/b/e x", "sed -i 'w y' x", "sed -i 'r y' x", "sed -i \"$X\" x", "sed -i src/* x", "sed --in-place p x", "sed -n p x", "cp -L a b", "cp -rL a b", "cp --deref a b", "cp --parents a/b c",
			},
		},
	} {
		for _, text := range c.yes {
			if !anyOf(text, c.f) {
				t.Errorf("%s: not %s", c.name, text)
			}
		}
		for _, text := range c.no {
			if anyOf(text, c.f) {
				t.Errorf("%s: %s", c.name, text)
			}
		}
	}
}

// TestSure checks the certain beginning of commands that are not fully known.
func TestSure(t *testing.T) {
	for text, want := range map[string]string{
		"git log": "", "git $X": "git ", "git pu$X y": "git pu", "git \"$X\"": "git ", "git $(x)": "git ", "git {a,$X}": "git ", "git p{a,$X}": "git p", "git p{a,b}": "", "git pu*": "git pu", "git ~/x": "git ", "git -C $HOME/x log": "git -C ",
		"git 'a b' $X": "git a b ", "xargs git": "git ", "xargs -n1 git log": "git log ", "xargs -I{} git {} x": "git ", "xargs -IX git log X": "git log ", "find . -exec git add {} +": "git add ", "ls | xargs sudo git": "git ", "sudo git log": "",
	} {
		a := Analyse(text, ws)
		got := "?"
		for _, c := range a.Commands {
			if c.Name == "git" {
				got = c.KnownPrefix
				if !strings.HasPrefix(c.Text+" ", got) || c.Literal != (got == "") {
					t.Errorf("%q: %q does not begin with %q, or literal is %v", text, c.Text, got, c.Literal)
				}
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestBlind checks which commands change unknown files.
func TestBlind(t *testing.T) {
	for text, want := range map[string]string{
		"echo x > $X": "echo", "echo x > a": "", "rm $X": "rm", "rm a": "", "rm *.o": "", "cat $X": "", "cp a $X": "cp", "cp $X a": "", "ls; tee $X; ls": "tee", "{ ls; } > $X": "ls", "xargs rm": "rm", "xargs cat": "",
		"find . -exec rm {} +": "rm", "sudo rm $X": "rm", "cp -t $X a": "cp", "cat <(rm $X)": "rm", "rm $(ls)": "rm", "sed -i p $X": "sed", "sed p $X": "", "sort -o $X a": "sort", "curl -so $X y": "curl", "> $X": "> $X",
	} {
		a := Analyse(text, ws)
		got := ""
		for _, c := range a.Commands {
			if c.UnknownWrites {
				got += c.Name
				if c.Name == "" {
					got += c.Text
				}
			}
		}
		if got != want {
			t.Errorf("%q: %q changes what is not known, want %q", text, got, want)
		}
	}
}

// TestMorePaths tests the ways in which commands name files other than as plain
// operands.
func TestMorePaths(t *testing.T) {
	for _, c := range []struct{ command, reads, writes string }{
		{"cp -rt d a", "/ws:a", "/ws:d /ws:d/a"},
		{"cp --target-directory=d a b", "/ws:a /ws:b", "/ws:d /ws:d/a /ws:d/b"},
		{"cp --targ=d a", "/ws:a", "/ws:d /ws:d/a"},
		{"cp --targ d a", "/ws:d /ws:a", "/ws:d /ws:d/d /ws:d/a"},
		{"touch --reff a b", "", "/ws:a /ws:b"},
		{"cp -td a", "/ws:a", "/ws:d /ws:d/a"},
		{"mv -t d a", "/ws:a", "/ws:d /ws:d/a /ws:a+"},
		{"cp src/* d", "/ws:src/*?", "/ws:d /ws:d/*?"},
		{"cp a/../b .", "/ws:a/../b", "/ws:. /ws:./b"},
		{"cp -S x a b", "/ws:a", "/ws:b /ws:b/a"},
		{"cp a", "/ws:a", "/ws:a"},
		{"curl -sSLo x http://y", "", "/ws:x"},
		{"curl -ox http://y", "", "/ws:x"},
		{"curl --outp x http://y", "", "/ws:x"},
		{"curl -T a http://y", "/ws:a", ""},
		{"wget -qO x http://y", "", "/ws:x"},
		{"sort -ro x y", "/ws:x /ws:y", "/ws:x"},
		{"uniq a", "/ws:a /ws:a", ""},
		{"patch -p1 -i a", "/ws:a", ""},
		{"sed -f a b", "/ws:a /ws:a /ws:b", ""},
		{"sed -i -f a b", "/ws:a /ws:a /ws:b", "/ws:b"},
		{"sed -ne p x", "/ws:x", ""},
		{"sed 'r x' y", "/ws:x /ws:y", ""},
		{"sed 's/a/b/w x' y", "/ws:y", "/ws:x"},
		{"sed -n '$!d;w x' y", "/ws:y", "/ws:x"},
		{"awk '{print > \"x\"}' y", "/ws:y", "/ws:x"},
		{"awk '{while ((getline l < \"x\") > 0) print l}' y", "/ws:x /ws:y", ""},
		{"git -C /x log", "/x", ""},
		{"git blame --contents /x a", "/x /ws:a /x", ""},
		{"git log --output=../x", "", "/ws:../x"},
		{"git commit -m 'see /x y'", "", ""},
		{"git log --output=x", "", "/ws:x"},
		{"git archive -o ../x HEAD", "/ws:HEAD /ws:../x", "/ws:../x"},
		{"find a b -name c -delete", "/ws:a+ /ws:b+ /ws:a /ws:b /ws:c", "/ws:a+ /ws:b+"},
		{"find -H a -fprint x", "/ws:a+ /ws:a /ws:x", "/ws:x"},
		{"install -d a b", "", "/ws:a /ws:b"},
		{"tar -xf a -C d", "/ws:a", "/ws:d"},
		{"env -C d cat x", "/ws:d /ws/d:x", ""},
		{"env --chdir=d cat x", "/ws:d /ws/d:x", ""},
		{"sudo -D d cat x", "/ws:d /ws/d:x", ""},
		{"pushd d && cat x", "/ws/d:x", ""},
		{"pushd - && cat x", "/ws:x :x?", ""},
		{"sudo cat x", "/ws:x", ""},
		{"grep --nosuch /a b", "/ws:b", ""},
		{"dd if=$X of=a", ":$X?", "/ws:a"},
	} {
		a := Analyse(c.command, ws)
		if got := showPaths(a.Reads); got != c.reads && !strings.HasPrefix(c.command, "dd") {
			t.Errorf("%q reads %q, want %q", c.command, got, c.reads)
		}
		if got := showPaths(a.Writes); got != c.writes {
			t.Errorf("%q writes %q, want %q", c.command, got, c.writes)
		}
	}
}

// TestPatterns checks that the pattern for path/filepath.Match matches at least the
// paths that the shell's pattern matches.
func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"*": "[^.]*", "*.go": "[^.]*.go", ".*": ".*", "a*": "a*", "a?b": "a?b", "?b": "[^.]b", "[a-c]d": "[^.]d", "a[!b]": "a?", "a/*": "a/[^.]*", "a/*/b": "a/[^.]*/b", "**": "[^.]**", "'*'x*": `\*x*`, `\[a*`: `\[a*`, "x[[:alpha:]]y/z": "x*/z", "[[:alpha:]]y": "[^.]*", "~/*": "/home/u/[^.]*", "\"a b\"*": "a b*",
	} {
		a := Analyse("cat "+text, ws)
		if len(a.Reads) != 1 || a.Reads[0].Pattern != want {
			t.Errorf("%s: %+v, want %s", text, a.Reads, want)
		}
	}
	for _, text := range []string{"shopt -s dotglob; cat *", "GLOBIGNORE=a; cat *", "bash -O dotglob x; cat *", "read GLOBIGNORE; cat *"} {
		a := Analyse(text, ws)
		if last := a.Reads[len(a.Reads)-1]; last.Pattern != "?*" {
			t.Errorf("%s: %+v", text, last)
		}
	}
}
