package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-toolset/internal/testscale"
)

// parts is the number of files of a project that its main file uses.
const parts = 6

// state is the state of a file: whether its function has the right type, and the line of it.
type state struct {
	right bool
	line  int
}

// language is a project of one language, with a real server.
type language struct {
	name     string
	variable string // names the program of the server
	files    map[string]string
	main     string // name of the main file, which uses F0 to F5 on the lines from first
	text     string // of the main file
	first    int
	file     string // name of a part, with its number
	part     func(i int, s state) string
	types    [2]string // expressions for the right and the wrong type in hover
	remains  bool      // parts are not removed
}

func each(format string) (s string) {
	for i := range parts {
		s += strings.ReplaceAll(format, "#", strconv.Itoa(i))
	}
	return s
}

func kind(s state, types [2]string) string {
	if s.right {
		return types[0]
	}
	return types[1]
}

var languages = []language{
	{
		name: "go", variable: "GOPLS", files: map[string]string{"go.mod": "module x\n\ngo 1.24\n"},
		main: "main.go", text: "package x\n\n" + each("var _ int = F#()\n"), first: 3, file: "f#.go", types: [2]string{`\) int`, `\) string`},
		part: func(i int, s state) string {
			return fmt.Sprintf("package x\n%s\n// F%d é😀.\nfunc F%d() %s { panic(1) }\n", strings.Repeat("\n", s.line), i, i, kind(s, [2]string{"int", "string"}))
		},
	},
	{
		name: "two modules", variable: "GOPLS", files: map[string]string{"app/go.mod": "module app\n\ngo 1.24\n\nrequire lib v0.0.0\n\nreplace lib => ../lib\n", "lib/go.mod": "module lib\n\ngo 1.24\n", "lib/lib.go": "package lib\n"},
		main: "app/main.go", text: "package app\n\nimport \"lib\"\n\n" + each("var _ int = lib.F#()\n"), first: 5, file: "lib/f#.go", types: [2]string{`\) int`, `\) string`},
		part: func(i int, s state) string {
			return fmt.Sprintf("package lib\n%s\n// F%d é😀.\nfunc F%d() %s { panic(1) }\n", strings.Repeat("\n", s.line), i, i, kind(s, [2]string{"int", "string"}))
		},
	},
	{
		name: "typescript", variable: "TYPESCRIPT_LANGUAGE_SERVER",
		files: map[string]string{"package.json": `{"name": "x"}`, "tsconfig.json": `{"compilerOptions": {"strict": true, "noEmit": true, "module": "esnext", "moduleResolution": "bundler"}, "include": ["*.ts"]}`},
		main:  "main.ts", text: each("import { F# } from \"./f#\";\n") + each("export const v#: number = F#();\n"), first: 1 + parts, file: "f#.ts", types: [2]string{`\): number`, `\): string`},
		part: func(i int, s state) string {
			return fmt.Sprintf("%s/* é😀 */ export function F%d(): %s { throw 1 }\n", strings.Repeat("\n", s.line), i, kind(s, [2]string{"number", "string"}))
		},
	},
	{
		name: "typescript 7", variable: "TSC",
		files: map[string]string{"package.json": `{"name": "x"}`, "tsconfig.json": `{"compilerOptions": {"strict": true, "noEmit": true, "module": "esnext", "moduleResolution": "bundler"}, "include": ["*.ts"]}`},
		main:  "main.ts", text: each("import { F# } from \"./f#\";\n") + each("export const v#: number = F#();\n"), first: 1 + parts, file: "f#.ts", types: [2]string{`\): number`, `\): string`},
		part: func(i int, s state) string {
			return fmt.Sprintf("%s/* é😀 */ export function F%d(): %s { throw 1 }\n", strings.Repeat("\n", s.line), i, kind(s, [2]string{"number", "string"}))
		},
	},
	{
		name: "c++", variable: "CLANGD", files: map[string]string{"compile_flags.txt": "-std=c++17\n"}, remains: true,
		main: "main.cpp", text: strings.ReplaceAll(each("@include \"f#.hpp\"\n"), "@", "#") + each("int v# = F#();\n"), first: 1 + parts, file: "f#.hpp", types: [2]string{"→ `int`", "→ `const char \\*`"},
		part: func(i int, s state) string {
			return fmt.Sprintf("%s/* é😀 */ inline %s F%d() { return 0; }\n", strings.Repeat("\n", s.line), kind(s, [2]string{"int", "const char *"}), i)
		},
	},
	{
		name: "python", variable: "PYRIGHT", files: map[string]string{"pyproject.toml": "[project]\nname = \"x\"\n"},
		main: "main.py", text: each("from f# import F#\n") + each("v#: int = F#()\n"), first: 1 + parts, file: "f#.py", types: [2]string{`-> int`, `-> str`},
		part: func(i int, s state) string {
			return fmt.Sprintf("%sdef F%d() -> %s: raise Exception('é😀')\n", strings.Repeat("\n", s.line), i, kind(s, [2]string{"int", "str"}))
		},
	},
}

// languageTime is the timeout for the answer to a call that asks a real server. It is longer than
// the timeout of the tool, so that a test shows the tool's error for a server that does not answer.
const languageTime = 150 * time.Second

// startLanguage starts a server of ours whose PATH has the program of the language's server.
func startLanguage(t *testing.T, l language) (*place, *host) { return startLanguageWith(t, l, "", nil) }

// startLanguageWith is startLanguage with further settings and variables.
func startLanguageWith(t *testing.T, l language, further string, variables []string) (*place, *host) {
	t.Helper()
	program := os.Getenv(l.variable)
	if program == "" {
		t.Skip(l.variable + " does not name a program")
	}
	var env []string
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			env = append(env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	settings := fmt.Sprintf(`{"sandbox": {"allowRead": [%q]}%s}`, filepath.Dir(filepath.Dir(program)), further) // libraries of the program
	p := startPlace(t, placeOptions{settings: settings, args: []string{"--sandbox", "auto", "--drain", "1s"}, env: append(append(env, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH")), variables...)})
	for name, text := range l.files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(p.root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(p.root, name), text)
	}
	put(t, filepath.Join(p.root, l.main), l.text)
	return p, connectLanguage(t, p)
}

func connectLanguage(t *testing.T, p *place) *host {
	t.Helper()
	h := connect(t, p, false, nil)
	h.limit = languageTime
	return h
}

func (h *host) lsp(t *testing.T, arguments map[string]any) string {
	t.Helper()
	args, _ := json.Marshal(arguments)
	o := h.ask(direct, "LSP", string(args))
	if o.fault != "" {
		t.Fatal(o.fault)
	}
	return o.text
}

// TestLanguageServers makes random edits by Write, by Bash and by another process, and asks
// the real server of a language after each. No answer may be of an earlier state.
func TestLanguageServers(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			p, h := startLanguage(t, l)
			rnd := rand.New(rand.NewPCG(uint64(len(l.name)), 3))
			file := func(i int) string { return strings.ReplaceAll(l.file, "#", strconv.Itoa(i)) }
			now := make([]*state, parts)
			for i := range now {
				now[i] = &state{right: true}
				put(t, filepath.Join(p.root, file(i)), l.part(i, *now[i]))
			}
			var took []time.Duration
			for step := range testscale.N(30, 200) {
				i := rnd.IntN(parts)
				next := &state{rnd.IntN(2) == 0, rnd.IntN(5)}
				if rnd.IntN(4) == 0 && !l.remains {
					next = nil
				}
				how := changeFile(t, h, rnd, p.root, file(i), now[i], next, l, i)
				now[i] = next
				begin := time.Now()
				if problem := question1(t, h, rnd, l, now, i, file); problem != "" {
					t.Fatalf("step %d, %s of %s by %s: %s", step, map[bool]string{true: "removal", false: "change"}[next == nil], file(i), how, problem)
				}
				took = append(took, time.Since(begin))
			}
			slices.Sort(took)
			t.Logf("%s: %d answers, none stale; median %v, 95%% %v", l.name, len(took), took[len(took)/2], took[len(took)*95/100])
		})
	}
}

// changeFile changes a file, and returns who did.
func changeFile(t *testing.T, h *host, rnd *rand.Rand, root, name string, was, next *state, l language, i int) string {
	t.Helper()
	path := filepath.Join(root, name)
	call := func(tool string, arguments map[string]any) {
		t.Helper()
		args, _ := json.Marshal(arguments)
		if o := h.ask(direct, tool, string(args)); o.fault != "" || o.failed {
			t.Fatal(tool, o.fault, o.text)
		}
	}
	how := []string{"a tool", "Bash", "another process"}[rnd.IntN(3)]
	if next == nil {
		if how == "Bash" {
			call("Bash", map[string]any{"command": "test ! -e " + name + " || mv " + name + " .removed"})
			return how
		}
		if err := os.Remove(path); err != nil && was != nil {
			t.Fatal(err)
		}
		return "another process"
	}
	text := l.part(i, *next)
	switch how {
	case "a tool":
		if was != nil {
			call("Read", map[string]any{"file_path": name})
		}
		call("Write", map[string]any{"file_path": name, "content": text})
	case "Bash":
		call("Bash", map[string]any{"command": "cat >" + name + " <<'END'\n" + text + "END"})
	default:
		cmd := exec.Command("sh", "-c", `cat >"$0"`, path)
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	return how
}

// question1 asks one question after the change of a part, and returns the mistake in the answer;
// "" if there is none.
func question1(t *testing.T, h *host, rnd *rand.Rand, l language, now []*state, changed int, file func(int) string) string {
	t.Helper()
	kind := rnd.IntN(3)
	if now[changed] == nil {
		kind = 0
	}
	symbol := "F" + strconv.Itoa(changed)
	switch kind {
	case 0:
		var want, got []int
		for i, s := range now {
			if s == nil || !s.right {
				want = append(want, i)
			}
		}
		answer := h.lsp(t, map[string]any{"operation": "diagnostics", "filePath": l.main})
		for _, m := range regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(l.main)+`:(\d+):\d+: error`).FindAllStringSubmatch(answer, -1) {
			line, _ := strconv.Atoi(m[1])
			got = append(got, (line-l.first+parts)%parts) // the imports are above
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			return fmt.Sprintf("problems with %v, not %v: %s", got, want, answer)
		}
	case 1:
		line := 1 + strings.Count(strings.SplitAfter(l.part(changed, *now[changed]), "func")[0], "\n")
		if l.name == "python" || l.name == "c++" {
			line = 1 + now[changed].line
		}
		if answer := h.lsp(t, map[string]any{"operation": "goToDefinition", "filePath": l.main, "symbol": symbol}); !strings.HasPrefix(answer, fmt.Sprintf("%s:%d:", file(changed), line)) {
			return fmt.Sprintf("the definition of %s in line %d is %s", symbol, line, answer)
		}
	default:
		want := l.types[1]
		if now[changed].right {
			want = l.types[0]
		}
		if answer := h.lsp(t, map[string]any{"operation": "hover", "filePath": l.main, "symbol": symbol}); !regexp.MustCompile(want).MatchString(answer) {
			return fmt.Sprintf("%s has the type %s, not %s", symbol, answer, want)
		}
	}
	return ""
}

// TestLanguageOperations compares operations on the module of this repository with the
// command line of gopls.
func TestLanguageOperations(t *testing.T) {
	testscale.NeedFull(t)
	l := languages[0]
	program := os.Getenv(l.variable)
	p, h := startLanguage(t, l)
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"lsp", "internal/text", "internal/search"} {
		if out, err := exec.Command("sh", "-c", `mkdir -p "$1" && cp -r "$0/." "$1"`, filepath.Join(repository, dir), filepath.Join(p.root, dir)).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(p.root, name), string(data))
	}
	if err := os.Remove(filepath.Join(p.root, l.main)); err != nil {
		t.Fatal(err)
	}
	commandLine := func(args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = p.root, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(args, err, said.String())
		}
		return string(out)
	}
	// Each use of a name on its line: the definition as the command line finds it.
	text, err := os.ReadFile(filepath.Join(p.root, "lsp", "text.go"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for n, line := range strings.Split(string(text), "\n") {
		at := strings.Index(line, "t.starts")
		if at < 0 {
			continue
		}
		compared++
		where := fmt.Sprintf("lsp/text.go:%d:%d", n+1, at+3)
		want := strings.TrimPrefix(strings.SplitN(commandLine("definition", where), ": ", 2)[0], p.root+"/")
		want = want[:strings.LastIndex(want, "-")]
		if got := h.lsp(t, map[string]any{"operation": "goToDefinition", "filePath": "lsp/text.go", "line": n + 1, "character": at + 3}); !strings.HasPrefix(got, want+":") {
			t.Errorf("the definition of %s is %q, and the command line finds %q", where, got, want)
		}
		want = commandLine("references", "-declaration", where)
		got := h.lsp(t, map[string]any{"operation": "findReferences", "filePath": "lsp/text.go", "line": n + 1, "character": at + 3})
		if lines := strings.Count(want, "\n"); !strings.HasPrefix(got, strconv.Itoa(lines)+" references") {
			t.Errorf("%s: %.200s, and the command line finds %d references", where, got, lines)
		}
	}
	if compared < 5 {
		t.Error(compared, "places were compared")
	}
	// The other operations, at one name each.
	place := func(file, text string, plus int) (where string, args map[string]any) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(p.root, file))
		at := bytes.Index(data, []byte(text)) + plus
		if err != nil || at < plus {
			t.Fatal(file, err)
		}
		line, column := 1+bytes.Count(data[:at], []byte("\n")), at-bytes.LastIndexByte(data[:at], '\n')
		return fmt.Sprintf("%s:%d:%d", file, line, column), map[string]any{"filePath": file, "line": line, "character": column}
	}
	ask := func(operation string, args map[string]any) string {
		t.Helper()
		args["operation"] = operation
		return h.lsp(t, args)
	}
	if want, got := commandLine("symbols", "lsp/text.go"), ask("documentSymbol", map[string]any{"filePath": "lsp/text.go"}); strings.Count(want, "\n") != strings.Count(got, "\n")+1 {
		t.Errorf("symbols:\n%s\nthe command line:\n%s", got, want)
	}
	where, args := place("lsp/client.go", "type Control interface", 5)
	var want []string
	for line := range strings.Lines(commandLine("implementation", where)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), p.root+"/")
		want = append(want, line[:strings.LastIndex(line, "-")])
	}
	for _, place := range want {
		if got := ask("goToImplementation", args); len(want) == 0 || strings.Count(got, "\n")+1 != len(want) || !strings.Contains(got, place) {
			t.Errorf("implementations: %s, not %s", got, want)
		}
	}
	where, args = place("lsp/text.go", "func NewText", 5)
	calls := commandLine("call_hierarchy", where)
	for operation, word := range map[string]string{"incomingCalls": "caller", "outgoingCalls": "callee"} {
		n := strings.Count(calls, word+"[")
		if got := ask(operation, args); n == 0 || !strings.HasPrefix(got, fmt.Sprintf("%d %s", n, word)) {
			t.Errorf("%s, not %d: %s", operation, n, got)
		}
	}
	doc := exec.Command("go", "doc", "./lsp", "NewText")
	doc.Dir = p.root
	out, err := doc.Output()
	_, sentence, _ := strings.Cut(string(out), "    ")
	if got := ask("hover", args); err != nil || sentence == "" || !strings.Contains(got, strings.TrimSpace(sentence)) {
		t.Errorf("hover: %s, go doc: %s %v", got, out, err)
	}
	put(t, filepath.Join(p.root, "lsp", "wrong.go"), "package lsp\n\nvar _ string = len(Table)\n\nfunc wrong() { missing() }\n")
	check := exec.Command(program, "check", "lsp/wrong.go")
	check.Dir = p.root
	if out, err = check.Output(); err != nil || len(out) == 0 {
		t.Fatal(string(out), err)
	}
	got := ask("diagnostics", map[string]any{"filePath": "lsp/wrong.go"})
	for line := range strings.Lines(string(out)) { // PATH:LINE:COLUMN-END: MESSAGE
		place, message, _ := strings.Cut(strings.TrimPrefix(line, p.root+"/"), ": ")
		if !strings.Contains(got, place[:strings.LastIndex(place, "-")]+": error: "+strings.TrimSpace(message)) {
			t.Errorf("diagnostics: %s, the command line: %s", got, line)
		}
	}
}

// TestLanguageServerEnds checks that nothing of a language server lives after ours, also if it
// did not answer initialize, and that other calls are not affected by one that hangs.
func TestLanguageServerEnds(t *testing.T) {
	for name, end := range map[string]func(*place){
		"end of input": func(p *place) { _ = p.in.Close() },
		"SIGTERM":      func(p *place) { _ = p.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGKILL":      func(p *place) { _ = p.cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			// It writes in the home folder, since the sandbox is off.
			seconds := strconv.Itoa(1_000_000 + rand.IntN(1_000_000))
			script := strings.ReplaceAll("trap '' TERM; sleep # & (exec setsid sleep #) & touch $HOME/ready; cat >/dev/null; sleep #", "#", seconds)
			p := startPlace(t, placeOptions{settings: fmt.Sprintf(`{"lspServers": {"hangs": {"command": "bash", "files": {"*.x": "x"}, "args": ["-c", %q]}}}`, script), args: []string{"--drain", "500ms"}})
			put(t, filepath.Join(p.root, "a.x"), "x")
			h := connectLanguage(t, p)
			_, answer := h.begin(direct, "LSP", `{"operation":"hover","filePath":"a.x","symbol":"x"}`)
			ready := filepath.Join(p.base, "home", "ready")
			for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(ready); err == nil {
					break
				}
				if time.Since(start) > deadline {
					t.Fatal("it did not start")
				}
			}
			for start := time.Now(); len(waiting(seconds)) < 3; time.Sleep(5 * time.Millisecond) {
				if time.Since(start) > deadline {
					t.Fatal("only these run:", waiting(seconds))
				}
			}
			if o := h.ask(direct, "Read", `{"file_path":"a.x"}`); o.fault != "" || o.failed {
				t.Error("another call:", o.fault, o.text)
			}
			end(p)
			h.await(answer)
			<-p.ended
			for start := time.Now(); len(waiting(seconds)) > 0; time.Sleep(5 * time.Millisecond) {
				if time.Since(start) > deadline {
					t.Fatal("these live:", waiting(seconds))
				}
			}
		})
	}
}

// TestLanguageServerKilled kills the real gopls at random moments of questions and edits. Each
// call is answered, or fails with the reason, and the next question works. Nothing is left.
func TestLanguageServerKilled(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 4))
	for range testscale.N(1, 10) { // a server that ends three times is not started again for a while
		p, h := startLanguage(t, languages[0])
		for i := range parts {
			put(t, filepath.Join(p.root, fmt.Sprintf("f%d.go", i)), languages[0].part(i, state{right: true}))
		}
		question := `{"operation":"goToDefinition","filePath":"main.go","symbol":"F1"}`
		ask := func() bool {
			t.Helper()
			begin := time.Now()
			o := h.ask(direct, "LSP", question)
			if took := time.Since(begin); took > 15*time.Second {
				t.Errorf("%v for %s", took, o.text)
			}
			if strings.HasPrefix(o.text, "f1.go:") {
				return true
			}
			if !regexp.MustCompile(`^LSP: failed: gopls (failed at goToDefinition: it ended|does not start: it ended): it ended by signal killed`).MatchString(o.text) {
				t.Errorf("%q %q", o.text, o.fault)
			}
			return false
		}
		for range 2 {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				// The moment of the kill is random; it waits for nothing.
				time.Sleep(time.Duration(rnd.IntN(1500)) * time.Millisecond)
				for _, pid := range languageServers(p) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}()
			for step := 0; ; step++ {
				ask()
				if o := h.ask(direct, "Write", fmt.Sprintf(`{"file_path":"new.go","content":"package x\n\nvar New = %d\n"}`, step)); o.failed || o.fault != "" {
					t.Error(o.text, o.fault)
				}
				select {
				case <-ended:
				default:
					continue
				}
				break
			}
			ask() // the kill may have hit this one
			if !ask() {
				t.Error("the next question does not work")
			}
			if n := len(languageServers(p)); n == 0 {
				t.Error("no server runs")
			}
		}
		_ = p.in.Close()
		<-p.ended
		for start := time.Now(); len(languageServers(p)) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Since(start) > deadline {
				t.Fatal("servers live:", languageServers(p))
			}
		}
	}
}

// languageServers returns the processes of gopls that a place started.
func languageServers(p *place) (pids []int) {
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range list {
		environ, _ := os.ReadFile(file)
		program, _ := os.Readlink(filepath.Join(filepath.Dir(file), "exe"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && bytes.Contains(environ, []byte("HOME="+p.base)) && filepath.Base(program) == "gopls" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// waiting returns the command lines of the processes that have a text in them.
func waiting(text string) (found []string) {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range list {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte(text)) {
			found = append(found, strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return found
}

// fakeServer answers hover, and writes a line into the home folder when it starts.
const fakeServer = `export LC_ALL=C
echo started >>$HOME/started
send() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"; }
while IFS= read -r line; do
	line=${line%$'\r'}
	case $line in
	Content-Length:*) n=${line#*: } ;;
	"")
		IFS= read -rN "$n" body
		id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<<"$body")
		case $body in
		*'"method":"initialize"'*) send '{"jsonrpc":"2.0","id":'"$id"',"result":{"capabilities":{"hoverProvider":true}}}' ;;
		*'"method":"textDocument/hover"'*)
			case $body in *b.x*) echo asked >>$HOME/asked; until [ -e $HOME/go ]; do sleep 0.01; done ;; esac
			send '{"jsonrpc":"2.0","id":'"$id"',"result":{"contents":"found"}}' ;;
		*) [ -z "$id" ] || send '{"jsonrpc":"2.0","id":'"$id"',"result":null}' ;;
		esac
		;;
	esac
done`

// metrics returns the metrics of an HTTP server.
func (p *place) metrics(t *testing.T) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(p.url, "/mcp")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+wireToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLanguageServerShared checks that two sessions of an HTTP server use one process, whose
// memory is among the metrics, and that it is started again after it was killed.
func TestLanguageServerShared(t *testing.T) {
	server, _ := json.Marshal(map[string]any{"command": "bash", "args": []string{"-c", fakeServer}, "files": map[string]string{"*.x": "x"}})
	p := startPlace(t, placeOptions{http: true, settings: `{"lspServers": {"fake": ` + string(server) + `}}`})
	put(t, filepath.Join(p.root, "a.x"), "x")
	started := func() int {
		data, _ := os.ReadFile(filepath.Join(p.base, "home", "started"))
		return bytes.Count(data, []byte("\n"))
	}
	hosts := []*host{connectLanguage(t, p), connectLanguage(t, p)}
	for _, h := range hosts {
		if got := h.lsp(t, map[string]any{"operation": "hover", "filePath": "a.x", "symbol": "x"}); got != "found" {
			t.Fatal(got)
		}
	}
	if n := started(); n != 1 {
		t.Error(n, "servers started")
	}
	if text := p.metrics(t); !regexp.MustCompile(`(?m)^mcp_toolset_language_server_memory_bytes\{name="fake"\} [1-9]`).MatchString(text) {
		t.Error(text)
	}
	// The same question of both at the same time is asked once. The server answers when it may.
	put(t, filepath.Join(p.root, "b.x"), "waits")
	var answers []<-chan message
	for _, h := range hosts {
		_, answer := h.begin(direct, "LSP", `{"operation":"hover","filePath":"b.x","symbol":"waits"}`)
		answers = append(answers, answer)
	}
	for start := time.Now(); !regexp.MustCompile(`(?m)^mcp_toolset_calls_shared_total 1$`).MatchString(p.metrics(t)); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > deadline {
			t.Fatal("nothing was shared")
		}
	}
	put(t, filepath.Join(p.base, "home", "go"), "")
	for i, h := range hosts {
		if o := outcomeOf(h.await(answers[i])); o.text != "found" {
			t.Error(o.text, o.fault)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(p.base, "home", "asked")); string(data) != "asked\n" {
		t.Errorf("the server was asked: %q", data)
	}
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range list {
		environ, _ := os.ReadFile(file)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && bytes.Contains(environ, []byte("HOME="+p.base)) && bytes.Contains(line, []byte("$HOME/started")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	killed := regexp.MustCompile(`^LSP: failed: fake failed at hover: it ended: it ended by signal killed`) // before the server has noticed
	becomes(t, "another one answers", func() bool {
		got := hosts[0].lsp(t, map[string]any{"operation": "hover", "filePath": "a.x", "symbol": "x"})
		if got != "found" && !killed.MatchString(got) {
			t.Fatal(got)
		}
		return got == "found"
	})
	if n := started(); n != 2 {
		t.Error(n, "servers started after one was killed")
	}
}

// TestLanguageServerAccess checks that a language server has the write rules and the network of
// a command: deny rules hide files from it and keep others unchanged, hosts that rules allow are
// reached, and one that the user would be asked about is refused, named in the answer, and in
// the audit log.
func TestLanguageServerAccess(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	address := web.Listener.Addr().String()
	probe := strings.NewReplacer("ADDRESS", address).Replace(`probe() {
	at=${http_proxy#http://}
	for host in ADDRESS host.example.com:443; do
		exec 3<>/dev/tcp/${at%:*}/${at#*:} && printf 'CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n' $host $host >&3 && read -r -u3 _ code _ && printf '%s ' $code
	done
	cat secret.x || printf 'hidden '
	echo y >fixed.x || printf 'unchanged '
	echo y >.git/hooks/pre-commit || printf 'protected '
	echo y >made && printf made
}
`) + strings.NewReplacer(`"contents":"found"`, `"contents":"'"$(probe 2>/dev/null)"'"`, `"hoverProvider":true`, `"hoverProvider":true,"definitionProvider":true`, "echo started >>$HOME/started", "").Replace(fakeServer)
	server, _ := json.Marshal(map[string]any{"command": "bash", "args": []string{"-c", probe}, "files": map[string]string{"*.x": "x"}})
	base := newBase(t)
	p := startPlace(t, placeOptions{
		base: base, args: []string{"--sandbox", "auto", "--audit", filepath.Join(base, "audit.jsonl")},
		settings: fmt.Sprintf(`{"lspServers": {"fake": %s}, "permissions": {"allow": ["WebFetch(domain:%s)"], "deny": ["Read(secret.x)", "Edit(fixed.x)"]}}`, server, address),
	})
	if err := os.MkdirAll(filepath.Join(p.root, ".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.x", "secret.x", "fixed.x", ".git/HEAD", ".git/hooks/x.sample"} {
		put(t, filepath.Join(p.root, name), "x")
	}
	h := connectLanguage(t, p)
	if o := h.ask(direct, "Bash", `{"command":"echo ${http_proxy:-none}"}`); !strings.HasPrefix(o.text, "http://") {
		t.Skip("commands have no network of their own here: ", o.text)
	}
	if got, want := h.lsp(t, map[string]any{"operation": "hover", "filePath": "a.x", "symbol": "x"}), "200 403 hidden unchanged protected made"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	got := h.lsp(t, map[string]any{"operation": "goToDefinition", "filePath": "a.x", "symbol": "x"})
	want := `fake found no definition for a.x:1:1: x
[the rules hide files of the project from fake, so that names or imports may seem to be missing]
[fake did not connect: no rule names the host host.example.com, and the user cannot be asked here. `
	if !strings.HasPrefix(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	log, err := os.ReadFile(filepath.Join(base, "audit.jsonl"))
	if err != nil || !regexp.MustCompile(`"parent":"fake 1".*"Network".*host\.example\.com`).Match(log) {
		t.Errorf("%v: %s", err, log)
	}
}

// TestLanguageDownload checks that gopls downloads a module from a host that the rules allow, and
// that the answer names the host where they do not.
func TestLanguageDownload(t *testing.T) {
	l := languages[0]
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string]string{"go.mod": "module example.com/dep\n", "dep.go": "package dep\n\nfunc New() string { return \"\" }\n"} {
		w, err := z.Create("example.com/dep@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"list": "v1.0.0\n", "v1.0.0.info": `{"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"}`, "v1.0.0.mod": "module example.com/dep\n", "v1.0.0.zip": archive.String(),
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[strings.TrimPrefix(r.URL.Path, "/example.com/dep/@v/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	_ = web.Listener.Close()
	web.Listener = listenApart(t)
	web.Start()
	defer web.Close()
	address := web.Listener.Addr().String()
	env := []string{"GOPROXY=" + web.URL, "GONOSUMDB=*", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local"}
	for _, allowed := range []bool{true, false} {
		rules := fmt.Sprintf(`, "permissions": {"allow": ["WebFetch(domain:%s)"]}`, address)
		if !allowed {
			rules = strings.Replace(rules, "allow", "deny", 1)
		}
		own := l
		own.files = map[string]string{"go.mod": "module x\n\ngo 1.24\n\nrequire example.com/dep v1.0.0\n"}
		own.text = "package x\n\nimport \"example.com/dep\"\n\nvar X int = dep.New()\n"
		p, h := startLanguageWith(t, own, rules, append(env, "GOMODCACHE="+t.TempDir()))
		if o := h.ask(direct, "Bash", `{"command":"echo ${http_proxy:-none}"}`); !strings.HasPrefix(o.text, "http://") {
			t.Skip("commands have no network of their own here: ", o.text)
		}
		sums := exec.Command("go", "mod", "tidy")
		sums.Dir, sums.Env = p.root, append(os.Environ(), append(env, "GOMODCACHE="+t.TempDir())...)
		if out, err := sums.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		got := h.lsp(t, map[string]any{"operation": "diagnostics", "filePath": l.main})
		want := "cannot use dep.New() (value of type string) as int value"
		if !allowed {
			want = "[gopls did not connect: "
		}
		if !strings.Contains(got, want) {
			t.Errorf("allowed: %t: %s", allowed, got)
		}
	}
}

// listenApart listens on an address of this machine that is not of the loopback interface, since
// Go uses no proxy for that.
func listenApart(t *testing.T) net.Listener {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			if l, err := net.Listen("tcp", ip.IP.String()+":0"); err == nil {
				return l
			}
		}
	}
	t.Skip("this machine has no other address")
	return nil
}

// TestLanguageHostile asks real servers about projects that nobody trusts and that name programs
// of theirs wherever a server may look for one. None of the programs may run.
func TestLanguageHostile(t *testing.T) {
	const js = `require("fs").writeFileSync(process.env.HOME + "/ran", "x"); require("fs").writeFileSync("ROOT/ran", "x");`
	const script = "#!/bin/sh\ntouch $HOME/ran ROOT/ran\nexec \"$@\"\n"
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			p, h := startLanguage(t, l)
			for name, text := range map[string]string{
				"run.sh": script, "go.env": "GOFLAGS=-toolexec=ROOT/run.sh\n", ".env": "GOFLAGS=-toolexec=ROOT/run.sh\n",
				".vscode/settings.json":                   `{"go.toolsEnvVars": {"GOFLAGS": "-toolexec=ROOT/run.sh"}, "gopls": {"build.env": {"GOFLAGS": "-toolexec=ROOT/run.sh"}}, "python.defaultInterpreterPath": "ROOT/run.sh", "typescript.tsdk": "node_modules/typescript/lib", "clangd.path": "ROOT/run.sh"}`,
				"tsconfig.json":                           `{"compilerOptions": {"strict": true, "noEmit": true, "plugins": [{"name": "evil"}, {"name": "./evil"}]}, "include": ["*.ts"]}`,
				"node_modules/evil/package.json":          `{"name": "evil", "main": "index.js"}`,
				"node_modules/evil/index.js":              js,
				"evil.js":                                 js,
				"node_modules/typescript/package.json":    `{"name": "typescript", "version": "5.9.0", "main": "lib/typescript.js"}`,
				"node_modules/typescript/lib/tsserver.js": js, "node_modules/typescript/lib/typescript.js": js,
				"node_modules/.bin/typescript-language-server": script, "node_modules/.bin/pyright-langserver": script, "node_modules/.bin/gopls": script, "node_modules/.bin/clangd": script,
				".venv/bin/python": script, ".venv/bin/python3": script, ".venv/bin/pyright-langserver": script, ".venv/pyvenv.cfg": "home = ROOT/.venv/bin\n",
				"pyrightconfig.json": `{"venvPath": ".", "venv": ".venv", "pythonPath": "ROOT/run.sh"}`,
				".clangd":            "CompileFlags:\n  Compiler: ROOT/run.sh\n", "compile_commands.json": `[{"directory": "ROOT", "file": "main.cpp", "command": "ROOT/run.sh -c main.cpp"}]`,
				".mcp-toolset/settings.json": `{"lspServers": {"gopls": {"command": "ROOT/run.sh", "files": {"*.go": "go"}}}}`,
			} {
				if text = strings.ReplaceAll(text, "ROOT", p.root); strings.HasPrefix(text, "#!") {
					text = strings.Replace(text, `exec "$@"`, "", 1)
				}
				path := filepath.Join(p.root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for i := range parts {
				put(t, filepath.Join(p.root, strings.ReplaceAll(l.file, "#", strconv.Itoa(i))), l.part(i, state{right: true}))
			}
			for _, operation := range []string{"diagnostics", "hover", "goToDefinition", "findReferences"} {
				o := h.ask(direct, "LSP", fmt.Sprintf(`{"operation": %q, "filePath": %q, "line": %d, "symbol": "F0"}`, operation, l.main, l.first))
				t.Logf("%s: %.200s %s", operation, o.text, o.fault)
				if o.fault != "" || o.failed {
					t.Error(operation, o.text, o.fault)
				}
			}
			for _, canary := range []string{filepath.Join(p.root, "ran"), filepath.Join(p.base, "home", "ran")} {
				if _, err := os.Stat(canary); err == nil {
					t.Error("a program of the project ran:", canary)
				}
			}
		})
	}
}
