package bash

import (
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/policy"
)

// disguise describes a way to rewrite a command so that the shell still runs it.
type disguise struct {
	text string // % is the command, @ the quoted command, "" the place after word
	word func(string) string
	// program reports whether the command must be a simple command, the words of a
	// program.
	program bool
	// plain reports whether a rule that allows the command also allows the disguise.
	plain bool
}

var disguises = []disguise{
	{text: "%", plain: true},
	{word: func(s string) string { return s[:1] + "''" + s[1:] }, plain: true},
	{word: func(s string) string { return s[:1] + `\` + s[1:] }, plain: true},
	{word: func(s string) string { return `\` + s }, plain: true},
	{word: func(s string) string { return `"` + s + `"` }, plain: true},
	{word: func(s string) string { return "$'" + s + "'" }, plain: true},
	{word: func(s string) string { return s[:1] + "\\\n" + s[1:] }, plain: true},
	{word: func(s string) string { return "/usr/bin/" + s }},
	{word: func(s string) string { return "/usr/bin/../bin/" + s }},
	{word: func(s string) string { return "./" + s }},
	{text: "sudo %", program: true}, {text: "sudo -u x %", program: true}, {text: "env %", program: true}, {text: "env -i A=b %", program: true},
	{text: "timeout 5 %", program: true}, {text: "nohup %", program: true}, {text: "nice -n 5 %", program: true}, {text: "stdbuf -oL %", program: true},
	{text: "setsid %", program: true}, {text: "command %", program: true}, {text: "exec %", program: true}, {text: "xargs %", program: true},
	{text: "find . -exec % {} +", program: true}, {text: "busybox %", program: true}, {text: "eval %", program: true}, {text: "time -p %", program: true},
	{text: "sh -c @"}, {text: "bash -lc @"}, {text: "eval @"}, {text: "trap @ EXIT"}, {text: "ssh h @"}, {text: "env -S @"},
	{text: "echo $(%)"}, {text: `echo "$(%)"`}, {text: "X=$(%)"}, {text: "cat <(%)"}, {text: "cat <<< \"$(%)\""}, {text: "cat <<E\n$(%)\nE"}, {text: "echo ${x:-$(%)}"},
	{text: "f() { %; }; f"}, {text: "for i in a; do %; done"},
	{text: "(%)", plain: true}, {text: "{ %; }", plain: true}, {text: "! %", plain: true}, {text: "if %; then :; fi", plain: true}, {text: "while %; do break; done"},
	{text: "A=b %"}, {text: "% > log"}, {text: "% 2>> log"}, {text: "<a %", plain: true}, {text: "% > /dev/null", plain: true}, {text: "% 2>&1", plain: true},
	{text: "true && %", plain: true}, {text: "false || %", plain: true}, {text: "ls; %", plain: true}, {text: "ls | %", plain: true}, {text: "ls\n%", plain: true}, {text: "% &", plain: true},
	{text: "ls # c\n%", plain: true}, {text: "cd src && %", plain: true}, {text: "ls \\\n; %", plain: true},
}

func (d disguise) put(s string) string {
	if d.word != nil {
		name, rest, _ := strings.Cut(s, " ")
		return d.word(name) + " " + rest
	}
	quoted := "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	return strings.NewReplacer("%", s, "@", quoted).Replace(d.text)
}

// TestDisguisedDeny checks that a denied command is never allowed in one or two
// disguises, even by a rule for the whole tool or by the most permissive mode.
func TestDisguisedDeny(t *testing.T) {
	s, n := newScene(t), 0
	cases := testscale.Sample([][2]string{
		{"Read(.env)", "cat .env"}, {"Bash(curl:*)", "curl x"}, {"Bash(rm -rf *)", "rm -rf x"},
		{"Bash(npm publish)", "npm publish"}, {"Bash(wge*)", "wget x"}, {"Bash(git push:*)", "git push -f origin"},
	}, 2)
	for _, tc := range cases {
		rule, cmd := tc[0], tc[1]
		for _, s.mode = range []policy.Mode{policy.ModeDefault, policy.ModeBypass} {
			s.set(t, entry{"deny", rule}, entry{"allow", "Bash"})
			for i, inner := range disguises {
				for j, outer := range disguises {
					text := inner.put(cmd)
					if i != 0 {
						if outer.word != nil || outer.program && inner.word == nil && !inner.program {
							continue // this would change the words, or be no command
						}
						text = outer.put(text)
					} else if j != 0 {
						continue
					}
					if s.mode == policy.ModeBypass && i != 0 && j != 0 {
						continue // pairs are tested in the other mode
					}
					n++
					if d := s.decide(t, 0, text); d.Behavior == policy.Allow && !(rule == "Bash(npm publish)" && appends(inner, outer)) {
						t.Errorf("deny %s, %s: %q: %s", rule, s.mode, text, show(d))
					}
				}
			}
		}
	}
	if n < 1_500*len(cases) {
		t.Errorf("only %d commands", n)
	}
}

// appends reports whether a disguise adds words after the command, so that an exact
// rule does not match it.
func appends(all ...disguise) bool {
	for _, d := range all {
		if strings.Contains(d.text, "{} +") {
			return true
		}
	}
	return false
}

// TestDisguisedAllow checks that a rule that allows a command does not allow a disguise
// that hides it, changes its environment or writes to a file.
func TestDisguisedAllow(t *testing.T) {
	s := newScene(t)
	s.uncontained = true
	s.set(t, entry{"allow", "Bash(npm test:*)"})
	for _, inner := range disguises {
		for _, outer := range disguises {
			if outer.word != nil || outer.program && inner.word == nil && !inner.program {
				continue
			}
			text := outer.put(inner.put("npm test x"))
			d := s.decide(t, 0, text)
			switch plain := inner.plain && outer.plain; {
			case !plain && d.Behavior == policy.Allow:
				t.Errorf("%q: %s", text, show(d))
			case plain && d.Behavior != policy.Allow && !strings.Contains(text, "#") && !strings.Contains(text, "& >") && !strings.Contains(text, "& 2>") && d.Layer != policy.LayerDefault:
				t.Errorf("%q: %s, %s", text, show(d), d.Reason)
			}
		}
	}
}
