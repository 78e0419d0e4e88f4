package bash

import (
	"slices"
	"strings"

	"mcp-toolset/internal/text/fault"
)

// screen describes a program that takes over the terminal.
type screen struct {
	without []string // prefixes of arguments with which the program needs no terminal
	flag    string   // a letter among the flags with the same effect; "": none
	next    string   // next step for the fault
}

var (
	vim    = screen{without: []string{"-c", "+", "-S", "-s", "-e", "-E", "--cmd", "--headless"}, next: "Use Read to see a file, and Edit or Write to change it."}
	editor = screen{next: vim.next}
	emacs  = screen{without: []string{"-batch", "--batch", "--script", "-x"}, next: vim.next}
	// On macOS -l is the number of samples that top prints.
	top = screen{without: []string{"-l"}, flag: "b", next: "Use top -b -n 1, or ps."}
	tui = screen{next: "Use ps, ls or another command that only prints."}
)

// screens lists well-known programs that wait for keys which never arrive.
var screens = map[string]screen{
	"vim": vim, "vi": vim, "nvim": vim, "view": vim, "vimdiff": vim, "rvim": vim,
	"nano": editor, "pico": editor, "micro": editor, "emacs": emacs,
	"top": top, "htop": tui, "btop": tui, "tig": tui,
}

// transparent lists programs that run another program in the same terminal.
var transparent = []string{"bash", "command", "doas", "env", "exec", "nice", "nohup", "sh", "sudo", "time", "timeout"}

// fullScreen returns an error if the command runs a full-screen program, or nil. It
// ignores programs that other programs run elsewhere or in a terminal of their own.
func (j *judged) fullScreen() error {
	if j == nil || j.terminal {
		return nil
	}
	outer := ""
	for _, c := range j.Analysis.Commands {
		if !c.Inner {
			outer = c.Name
		}
		s, known := screens[c.Name]
		if !known || c.Inner && !slices.Contains(transparent, outer) || s.prints(c.Words[1:]) {
			continue
		}
		if path := c.Words[0]; strings.Contains(path, "/") && !strings.HasPrefix(path, "/usr/") && !strings.HasPrefix(path, "/bin/") {
			continue // a program of the project that has the same name
		}
		return fault.New(c.Name+" is a full-screen program, and without tty commands have no terminal", s.next)
	}
	return nil
}

// prints reports whether the program needs no terminal with these arguments.
func (s screen) prints(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		for _, start := range append([]string{"--help", "--version", "-h", "-V"}, s.without...) {
			if strings.HasPrefix(arg, start) {
				return true
			}
		}
		return s.flag != "" && strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, s.flag)
	})
}
