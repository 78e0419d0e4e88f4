package repl

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mcp-toolset/tools"
)

// shell is the language whose code the rules on Bash cover.
const shell = "bash"

//go:embed python.py
var pythonDriver string

//go:embed node.js
var nodeDriver string

// language describes how to start an interpreter and to talk to it.
type language struct {
	program string
	install string // how to get the program
	// start returns the commands of a POSIX shell that replace it by the interpreter. Its
	// requests are on descriptor 3, its answers go to 4.
	start func(program string) string
	// request returns the text that makes the interpreter run code and answer with an id.
	request func(id, code string) string
	// interrupt returns the text that makes it stop a request, unless the code computes. It is
	// nil if only a signal can do that.
	interrupt func(id string) string
}

var languages = map[string]language{
	"python": {
		program: "python3", install: "Ask the user to install Python 3.8 or later (for example apt install python3).",
		start: func(program string) string {
			return fmt.Sprintf("exec %s -u -c %s %s", quote(program), quote(`import sys; exec(compile(sys.argv[1], "<driver>", "exec"))`), quote(pythonDriver))
		},
		request: jsonRequest,
	},
	"node": {
		program: "node", install: "Ask the user to install Node.js 18 or later (for example apt install nodejs).",
		interrupt: func(id string) string { return fmt.Sprintf(`{"id":%q}`+"\n", id) },
		start: func(program string) string {
			return fmt.Sprintf("exec %s -e %s", quote(program), quote(nodeDriver))
		},
		request: jsonRequest,
	},
	// An interactive bash goes on after what ends another: syntax errors, interrupts, failed
	// expansions. Its commands are its input; those of a call get an empty one.
	shell: {
		program: "bash", install: "Ask the user to install bash.",
		start: func(program string) string {
			return "exec 0<&3 199>&4 3<&- 4>&-; unset HISTFILE MAIL MAILPATH PROMPT_COMMAND; PS1= PS2= exec " + quote(program) + " --norc --noprofile --noediting -p -i 2>/dev/null"
		},
		request: shellRequest,
	},
}

// script returns the shell script that starts an interpreter. The pipe to it is its standard
// input, that from it its standard error.
func (l language) script(program string) string {
	return fmt.Sprintf("exec 3<&0 4>&2 0</dev/null 2>&1; command -v %s >/dev/null || exit %d; ulimit -d %d; %s",
		quote(program), exitMissing, memory>>10, l.start(program))
}

// Exit codes of a script whose program does not exist, or cannot be executed.
const (
	exitMissing  = 127
	exitUnusable = 126
)

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func jsonRequest(id, code string) string {
	data, err := json.Marshal(map[string]string{"id": id, "code": code})
	if err != nil {
		panic(err) // plain data
	}
	return string(data) + "\n"
}

// shellRequest returns lines of input: bash discards the rest of one that is interrupted. Nothing
// in the first one can change the id in the others. The code has no single quotes: if an interrupt
// discards the beginning of the line, the rest is an open string, which is not run. The second
// reply is for code that defines functions with the names of builtins: setting the variable gives
// special ones such as unset precedence.
func shellRequest(id, code string) string {
	code = strings.NewReplacer(`\`, `\\`, `'`, `\047`, "\n", `\n`, "\r", `\r`).Replace(code)
	reply := `\builtin printf '\n{"id":"` + id + `","ok":true,"code":%d}\n' "$?" >&199` + "\n"
	return `\eval $'` + code + "' </dev/null 199>&-\n" + reply +
		`POSIXLY_CORRECT=y; \unset -f builtin printf eval unset; \unset POSIXLY_CORRECT` + "\n" + reply
}

// shellSetup is the first input of bash.
const shellSetup = "exec 2>&1; set +H +m +o history\n"

// program returns the interpreter of a language: for Python that of a trusted root. In a git
// worktree, which has no such files of its own, it is that of the checkout.
func (o Options) program(env *tools.Env, name string) string {
	if name == "python" && o.Trusted != nil {
		for _, root := range env.Session.Roots {
			if w := env.Session.Worktree; w != nil {
				root = w.Outside(root)
			}
			path := filepath.Join(root, ".venv", "bin", "python")
			if info, err := os.Stat(path); err == nil && !info.IsDir() && o.Trusted(root) {
				return path
			}
		}
	}
	if name == shell && filepath.Base(o.Bash.Commands.Shell()) == "bash" {
		return o.Bash.Commands.Shell()
	}
	return languages[name].program
}
