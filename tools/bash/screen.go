package bash

import (
	"slices"
	"strings"

	"mcp-toolset/internal/fault"
)

// screen is a program that takes over the terminal.
type screen struct {
	without []string // arguments that begin so make it do its work without one
	flag    string   // so does this letter among the flags; "": none does
	instead string   // what to do
}

var (
	vim    = screen{without: []string{"-c", "+", "-S", "-s", "-e", "-E", "--cmd", "--headless"}, instead: "Use Read to see a file, and Edit or Write to change it."}
	editor = screen{instead: vim.instead}
	emacs  = screen{without: []string{"-batch", "--batch", "--script", "-x"}, instead: vim.instead}
	// On macOS -l says how often top prints.
	top = screen{without: []string{"-l"}, flag: "b", instead: "Use top -b -n 1, or ps."}
	tui = screen{instead: "Use ps, ls or another command that only prints."}
)

// screens are well-known programs that wait for keys which never come.
var screens = map[string]screen{
	"vim": vim, "vi": vim, "nvim": vim, "view": vim, "vimdiff": vim, "rvim": vim,
	"nano": editor, "pico": editor, "micro": editor, "emacs": emacs,
	"top": top, "htop": tui, "btop": tui, "tig": tui,
}

// transparent are programs that run another one in the same terminal.
var transparent = []string{"bash", "command", "doas", "env", "exec", "nice", "nohup", "sh", "sudo", "time", "timeout"}

// fullScreen returns the error of a command that runs a full-screen program; nil if it
// runs none. Programs that others run elsewhere, or in a terminal of their own, are
// not known to be.
func (j *judged) fullScreen() error {
	if j == nil {
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
			continue // a program of the project that only has such a name
		}
		return fault.New(c.Name+" is a full-screen program, and commands have no terminal", s.instead)
	}
	return nil
}

// prints reports whether the program does without a terminal with these arguments.
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
