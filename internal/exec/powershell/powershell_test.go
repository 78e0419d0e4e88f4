package powershell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSimple checks commands that a rule may allow, and commands that must never be
// simple.
func TestSimple(t *testing.T) {
	for text, want := range map[string]string{
		"git status":                    "git status",
		"  npm   run\tbuild \n":         "npm run build",
		"git commit -m 'fix the bug'":   "git commit -m fix the bug",
		`git commit -m "fix (2): a; b"`: "git commit -m fix (2): a; b",
		"git log 'HEAD$'":               "git log HEAD$",
		`.\build.cmd /t:Release`:        `.\build.cmd /t:Release`,
		"./a/b.exe x=y,z":               "./a/b.exe x=y,z",
		`C:\tools\x.exe -v`:             `C:\tools\x.exe -v`,
		"Get-Content -Path:a.txt":       "Get-Content -Path:a.txt",
		"7z x a.zip":                    "7z x a.zip",
		"git diff ''":                   "git diff ",
		"dotnet test --filter Name!=x":  "dotnet test --filter Name!=x",
		"git show HEAD~1:a.txt":         "git show HEAD~1:a.txt",
	} {
		c := Analyse(text)
		if !c.Simple || c.Text(text) != want || c.Incomplete != "" {
			t.Errorf("%q: %+v, want %q", text, c, want)
		}
	}
	for _, text := range []string{
		"", " ", "git status; rm x", "git status\nrm x", "git status\r\nrm x", "git status | iex", "git status & rm x", "git status && rm x", "git status || rm x",
		"git status $(rm x)", "git status (rm x)", "git status @(rm x)", "git status {rm x}", "git $x", "git ${x}", "git \"$x\"", "git \"$(rm x)\"", "git @args",
		"git `; rm x", "g`it status", "git status `\nrm x", "git \"a`\"; rm x\"", "git status > x", "git status 2>&1", "git status < x", "git status *> x", "git # x",
		"& git status", "&git status", ". git", ". .\\x.ps1", "& 'git' status", "'git' status", "\"git\" status", "git 'a", "git \"a", "git a'b'", "git 'a'b", "git 'a''; rm x'", "git \"a\"\"; rm x\"",
		"git --% status & rm x", "git --%", "git ‘a’; rm x", "git \u201ca\u201d", "git \u2013x", "git\u00a0status", "git status\u0085rm x", "gіt status", "git\x00status", "git \x1b[0m",
		"git log *", "rm a?", "rm [a-z]", "git log --format=%H", "git a^b", "git 'a%PATH%'", "git \"a&b\"", "git 'a|b'", "git 'a\\' x'", "cmd 'a\\'", "git 'a\nb'",
		"return git status", "if x", "exit 3", "throw x", "FOREACH x", "function f", "using module x", "trap x", "param x", "begin x", "data x",
		"5", "5 + 5", "1..9", "-x", "-join a", "!x", "+x", "% x", "? x", "$x = 1", "[IO.File]::Delete('x')", "{ rm x }", "(rm x)", "@{a=1}", "x.y()", "git, rm x", "a=b c", "..", ".", "~/x", "\\\\host\\share\\x.exe", "#", "=x", ":x",
	} {
		if c := Analyse(text); c.Simple {
			t.Errorf("%q is taken for one command: %q", text, c.Words)
		}
	}
}

// TestForms checks that deny and ask rules find a command however it runs, or that the
// command is doubtful, and that a completely known command is not doubtful.
func TestForms(t *testing.T) {
	found := func(c Command, form string) bool {
		return slices.ContainsFunc(c.Forms, func(f string) bool { return strings.EqualFold(f, form) })
	}
	for _, text := range []string{
		"rm x", "RM x", "Remove-Item x", "ri x", "del x", "erase x", "rd x", "rmdir x", `Microsoft.PowerShell.Management\Remove-Item x`, "rm.exe x", `C:\bin\RM.EXE x`, "./rm x",
		"ls; rm x", "ls|rm x", "ls &rm x", "ls\nrm x", "ls\rrm x", "ls && rm x", "$(rm x)", "ls | % { rm x }", "if (1) { rm x }", "& rm x", "& 'rm' x", "&{rm x}", ". rm x", "& \"rm\" x",
		"r`m x", "r''m x", "'r'+'m x'; rm x", "iex 'rm x'", "powershell -c rm x", "pwsh -Command \"rm x\"", "cmd /c del x", "cmd /c 'rm x'", "Start-Process rm x", "Invoke-Command { rm x }", "return rm x", "$y = rm x", "@(rm x)", "[void](rm x)", "rm\u00a0x", "\u2018rm\u2019 x", "foreach ($i in 1) {rm x}", "icm {rm x}", "wsl rm x",
	} {
		if c := Analyse(text); !found(c, "remove-item x") || !found(c, "rm x") {
			t.Errorf("%q is not found in %q", text, c.Forms)
		}
	}
	for text, doubtful := range map[string]bool{
		"git status": false, "ls | sort x": false, "ls; git status": false, "(git status)": false, "git status && git diff": false, "git log -n 5; echo 'a b'": false,
		"$x": true, "& $x": true, "iex x": true, "powershell -EncodedCommand AAAA": true, "ls | iex": true, "git `x": true, "[x]::y()": true, "ls *": true, "ls | % x": true, "'a": true, "é": true,
		"x.y(1)": true, "ls > x": true, "@x": true, "& git": false, ". git": true, "'git' status": true, "cmd /c x": true, "ls; CMD.exe /c x": true, "start x": true,
	} {
		if c := Analyse(text); (c.Incomplete != "") != doubtful {
			t.Errorf("%q is doubtful: %q", text, c.Incomplete)
		}
	}
	long := Analyse(strings.Repeat("ls 'x y'; ", 1000) + strings.Repeat("a ", 10_000))
	if long.Incomplete == "" || len(long.Forms) > maxForms {
		t.Errorf("%d forms, doubtful: %q", len(long.Forms), long.Incomplete)
	}
}

// FuzzSimple checks that no simple command has a character by which PowerShell
// separates, expands or escapes outside of quotes.
func FuzzSimple(f *testing.F) {
	for _, seed := range []string{"git status", "git 'a b'", "a;b", "a \"$b\"", "a `b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := Analyse(text)
		if !c.Simple {
			return
		}
		open := byte(0)
		for i := range len(text) {
			b := text[i]
			switch {
			case b >= 0x80, b == '`', b < ' ' && b != '\t' && strings.Trim(text[i:], " \t\r\n") != "" && strings.Trim(text[:i], " \t\r\n") != "":
				t.Fatalf("%q has %q", text, b)
			case open != 0:
				if b == open {
					open = 0
				} else if b == '$' && open == '"' {
					t.Fatalf("%q expands", text)
				}
			case b == '\'' || b == '"':
				open = b
			case strings.IndexByte(";|&(){}$@<>#%*?[]^", b) >= 0:
				t.Fatalf("%q has %q outside of quotes", text, b)
			}
		}
		if open != 0 {
			t.Fatalf("%q ends in a quote", text)
		}
	})
}

// TestNamed checks the words that may name files, and whether they are all.
func TestNamed(t *testing.T) {
	for text, words := range map[string][]string{
		"gc .env | sort": {".env"}, "gc 'a b/c'; ls": {"a b/c"}, "gc \"a;b\" | sort": {"a;b"}, "$x=.env": {".env"}, "gc a' 'b": {"a b"}, "ls>x": {"x"}, "gc .e`nv": {".env"}, "[a]::b('c d')": {"c d"}, "cmd /c 'type .env'": {".env", "type .env"}, "gc 'a": {"a"},
	} {
		c := Analyse(text)
		for _, word := range words {
			if !slices.Contains(c.Named, word) {
				t.Errorf("%q is not among the words of %q: %q", word, text, c.Named)
			}
		}
	}
	for text, whole := range map[string]bool{
		"gc a": true, "gc a | sort": true, "cd ..": true, "gc *": false, "gc $x; ls": false, "cd ..; gc a": false, "ls; Set-Location x": false, "pwsh -enc AA": false,
		strings.Repeat("ls; ", 9) + strings.Repeat("a ", maxWords+2): false,
	} {
		if c := Analyse(text); (c.Unnamed == "") != whole {
			t.Errorf("%q: not all words are known: %q", text, c.Unnamed)
		}
	}
	var list []string
	for i := range 2 * maxNamed {
		list = append(list, "gc f"+strconv.Itoa(i))
	}
	if c := Analyse(strings.Join(list, ";")); c.Unnamed == "" || len(c.Named) != maxNamed {
		t.Errorf("%d words, unnamed: %q", len(c.Named), c.Unnamed)
	}
}

// TestPrograms checks the simple commands of a text.
func TestPrograms(t *testing.T) {
	for text, want := range map[string]string{
		"git -C . push": "[[git -C . push]]", `C:\x\Git.EXE 'a b'`: "[[git a b]]", "ls; git push | sort": "[[ls] [git push] [sort]]", "git log 'a;b'; ls": "[[git log a;b] [ls]]", "$x; git push": "[[git push]]", "cmd /c x": "[[cmd /c x]]", "if (1) { git push }": "[[git push]]", "$x": "[]",
	} {
		if got := fmt.Sprint(Analyse(text).Programs); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if c := Analyse(strings.Repeat("ls;", 2*maxPrograms)); c.Incomplete == "" || len(c.Programs) != maxPrograms {
		t.Errorf("%d programs, doubtful: %q", len(c.Programs), c.Incomplete)
	}
}
