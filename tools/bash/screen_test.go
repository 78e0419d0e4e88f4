package bash

import (
	"testing"

	"mcp-toolset/internal/exec/shellsafe"
)

// TestFullScreen checks that a program that would wait for keys is rejected, with an
// alternative, and that the same program is accepted when it works without a terminal.
func TestFullScreen(t *testing.T) {
	const (
		edit = " is a full-screen program, and without tty commands have no terminal. Use Read to see a file, and Edit or Write to change it."
		look = " is a full-screen program, and without tty commands have no terminal. Use ps, ls or another command that only prints."
	)
	for command, want := range map[string]string{
		"vim x":                       "vim" + edit,
		"cd /tmp && /usr/bin/vi x":    "vi" + edit,
		"timeout 5 nano x":            "nano" + edit,
		"sudo vim x":                  "vim" + edit,
		"bash -c 'vim x'":             "vim" + edit,
		"for f in *; do vim $f; done": "vim" + edit,
		"emacs -nw x":                 "emacs" + edit,
		"top":                         "top is a full-screen program, and without tty commands have no terminal. Use top -b -n 1, or ps.",
		"top -d 1":                    "top is a full-screen program, and without tty commands have no terminal. Use top -b -n 1, or ps.",
		"htop":                        "htop" + look,
		"vim --version":               "",
		"vim -es -c 'g/x/d' -c wq f":  "",
		"nvim --headless +qa":         "",
		"emacs --batch -l x.el":       "",
		"top -b -n 1":                 "",
		"top -bn1 | head":             "",
		"top -l 1":                    "",
		"which vim":                   "",
		"EDITOR=vim git commit -m x":  "",
		"export EDITOR=vim":           "",
		"tmux new -d vim x":           "",
		"ssh host vim x":              "",
		"less x":                      "",
		"./view x":                    "",
		"bin/top":                     "",
		"mc ls s3/bucket":             "",
		"echo vim":                    "",
	} {
		j := &judged{Analysis: shellsafe.Analyse(command, shellsafe.Options{})}
		got := ""
		if err := validate(command, 0, mostTimeout, nextBackground, j); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
