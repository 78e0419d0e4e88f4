package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"mcp-toolset/internal/testscale"
)

// The attacks of testdata/path_attacks.tsv, made by calls.

// attack is a row of testdata/path_attacks.tsv.
type attack struct {
	id, setup, tool, path, want string
	dir                         string // folder of its setup, with the workspace ws
}

// attempt is a call that an attack makes.
type attempt struct {
	tool string
	args map[string]any
	want string // the expected outcome: see attack.judge
}

// The expected outcomes of an attempt.
const (
	refusedCall = "refused" // refused by the policy: denied, or not approved
	failedCall  = "failed"  // refused, or an error
	doneCall    = "done"
	anyCall     = "any" // any answer
)

func readOf(path, want string) attempt {
	return attempt{"Read", map[string]any{"file_path": path}, want}
}

func writeTo(path, want string) attempt {
	return attempt{"Write", map[string]any{"file_path": path, "content": "PWNED"}, want}
}

func searchIn(path, want string) []attempt {
	return []attempt{
		{"Grep", map[string]any{"pattern": "SECRET|PWNED", "path": path, "output_mode": "content"}, want},
		{"Glob", map[string]any{"pattern": "**/*", "path": path}, want},
	}
}

// notHere maps rows that need more than a call to the place of their test or the reason
// to omit them.
var notHere = map[string]string{
	"p030": "there is no such device everywhere, and p024 and p025 are of its kind",
	"p071": "internal/file/workspace swaps while it opens", "p072": "internal/search/walk swaps while it lists",
	"p079": "it is about starting: roots.txtar", "p082": "internal/file/workspace has folders that cannot be written to",
	"p086": "tools/edit changes files behind a read", "p088": "tools/read reads files that grow",
	"p090": "internal/file/workspace forces the other way", "p091": "it takes a minute to set up; internal/search bounds folders",
	"p095": "it is a decision, not an attack", "p100": "it is about the code, which does not call it",
}

// setups replaces setups that are not shell commands.
var setups = map[string]string{
	"p051": `mkdir -p ws/$(printf 'd/%.0s' $(seq 300))`,
	"p061": `touch ws/é "ws/$(printf 'e\314\201')" ws/é.denied "ws/$(printf 'e\314\201.denied')"`,
	"p068": `mkdir ws/.git; touch ws/.git/config; mv ws/.git ws/g; ln -s g ws/.git`,
	"p081": `echo x >ws/f; chmod 000 ws/f`,
	"p084": `echo kept >ws/big`, "p085": `echo x >ws/f`,
	"p092": `seq -f 'pattern-%g/**/**/*[a-z]x' 100000 >ws/.gitignore; printf '\377\376[\n**/**/**\n' >>ws/.gitignore; echo x >ws/f`,
	"p093": `mkdir ws/d; ln -s . ws/d/self; touch ws/d/f`, // readAttacks adds farmSize links
	"p094": `echo x >ws/f; chmod 4755 ws/f`,
	"p097": `printf 'a\r\nb\nc\r\n' >ws/f`, "p098": `echo x >ws/f`,
	"p096": `:`,
	"p075": `mkdir root2; echo x >root2/secret`,
}

// farmSize is the number of links to one folder in p093.
var farmSize = testscale.N(1000, 10_000)

// attempts returns the calls of a row: those of its tool and path, or a replacement.
func (a *attack) attempts() []attempt {
	ws := filepath.Join(a.dir, "ws")
	at := func(name string) string { return ws + "/" + name }
	switch a.id {
	case "p033", "p051", "p093":
		return searchIn(ws, anyCall)
	case "p050":
		return []attempt{readOf(at(strings.Repeat("x", 256)), failedCall), writeTo(at(strings.Repeat("x", 256)), failedCall)}
	case "p055", "p056":
		return append(searchIn(ws, anyCall), readOf(at("\ufffd\ufffd"), anyCall))
	case "p058":
		return []attempt{writeTo(at("*"), doneCall), readOf(at("?"), doneCall), {"Edit", map[string]any{"file_path": at("*"), "old_string": "PWNED", "new_string": "x"}, doneCall}}
	case "p060":
		return []attempt{readOf(at("CON"), doneCall), readOf(at("NUL"), doneCall), readOf(at("aux.txt"), doneCall)}
	case "p061":
		return []attempt{readOf(at("é"), doneCall), readOf(at("e\u0301"), doneCall), readOf(at("é.denied"), refusedCall), readOf(at("e\u0301.denied"), refusedCall)}
	case "p062":
		return []attempt{writeTo(at(".Git/config"), refusedCall), readOf(at(".env"), refusedCall), writeTo(at(".env"), refusedCall)}
	case "p067", "p069":
		var list []attempt
		for _, name := range strings.Fields(strings.ReplaceAll(a.path, "<WS>/", "")) {
			if name = strings.ReplaceAll(name, "...", "x"); a.id == "p067" {
				name = at(name)
			}
			list = append(list, writeTo(name, refusedCall))
		}
		return list
	case "p075":
		return []attempt{readOf(filepath.Join(a.dir, "root2/secret"), failedCall)}
	case "p085", "p092":
		return append(searchIn(ws, anyCall), readOf(at("f"), anyCall))
	case "p094", "p096":
		if a.id == "p096" {
			return []attempt{readOf(at(strings.Repeat("./", 10_000)+"../../ws-evil/secret"), failedCall)}
		}
		return []attempt{readOf(at("f"), doneCall), writeTo(at("f"), doneCall)}
	case "p097":
		return []attempt{readOf(at("f"), doneCall), {"Edit", map[string]any{"file_path": at("f"), "old_string": "a\nb", "new_string": "a\nB"}, doneCall}}
	case "p098":
		return []attempt{writeTo(at("f/"), failedCall)}
	}
	path := strings.ReplaceAll(a.path, "<WS>", ws)
	want := failedCall
	if strings.HasPrefix(a.want, "deny:") || strings.HasPrefix(a.want, "deny ") || strings.HasPrefix(a.want, "protected") || strings.HasPrefix(a.want, "ask") {
		want = refusedCall
	}
	if a.tool == "Write" {
		return []attempt{writeTo(path, want)}
	}
	return []attempt{readOf(path, want)}
}

// judge returns the problem with an answer, or "".
func (want attempt) judge(a shellAnswer) string {
	switch {
	case a.fault != "":
		return "no answer: " + a.fault
	case strings.Contains(a.text, "SECRET") || strings.Contains(a.text, "root:x:"):
		return "it shows the secret"
	case !utf8.ValidString(a.text) || strings.ContainsFunc(a.text, func(r rune) bool { return unicode.Is(unicode.Cf, r) || r == '\x1b' }):
		return "it has what does not show"
	case want.want == anyCall:
		return ""
	case want.want == doneCall && a.failed:
		return "it failed"
	case want.want != doneCall && !a.failed:
		return "it was done"
	case want.want == refusedCall && !strings.Contains(a.text, ": refused by policy: "):
		return "it was not refused"
	}
	return ""
}

// TestPathAttacks makes calls with paths that try to leave the workspace, to read or
// change forbidden files, or to make the server hang. One server handles all of them and
// continues.
func TestPathAttacks(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	attacks := readAttacks(t, base)
	args := []string{"--search-index", "off"}
	for _, a := range attacks {
		args = append(args, "--root", filepath.Join(a.dir, "ws"))
		if a.id == "p075" {
			args = append(args, "--root", filepath.Join(a.dir, "root2"))
		}
	}
	s := startShell(t, shellOptions{asks: true, args: args, settings: `{"permissions": {"deny": ["Read(**/.env)", "Read(**/é.denied)"]}}`})
	var last []*attack // these take resources from the server
	for _, a := range attacks {
		if a.id == "p084" || a.id == "p085" {
			last = append(last, a)
			continue
		}
		t.Run(a.id, func(t *testing.T) { a.run(t, s) })
	}
	for _, a := range last {
		t.Run(a.id, func(t *testing.T) { a.starve(t, s) })
	}
	if text, err := os.ReadFile(filepath.Join(s.root, "a.txt")); err == nil {
		t.Errorf("in the first root there is %s", text)
	}
}

// readAttacks reads the rows and runs their setups.
func readAttacks(t *testing.T, base string) (attacks []*attack) {
	t.Helper()
	text, err := os.ReadFile("testdata/path_attacks.tsv")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || notHere[f[0]] != "" {
			continue
		}
		if len(f) != 5 {
			t.Fatalf("%d columns: %q", len(f), line)
		}
		if f[0] == "p081" && os.Geteuid() == 0 {
			continue // nothing is closed to root
		}
		a := &attack{f[0], f[1], f[2], f[3], f[4], filepath.Join(base, f[0])}
		must(t, os.MkdirAll(filepath.Join(a.dir, "ws"), 0o755))
		writeAt(t, filepath.Join(a.dir, "ws-evil/secret"), "SECRET")
		if setup := setups[a.id]; setup != "" {
			a.setup = setup
		}
		cmd := exec.Command("bash", "-c", a.setup)
		cmd.Dir = a.dir
		if out, err := cmd.CombinedOutput(); err != nil && a.setup != "" {
			t.Fatalf("%s: %s: %v %s", a.id, a.setup, err, out)
		}
		for i := range farmSize {
			if a.id == "p093" {
				must(t, os.Symlink("d", filepath.Join(a.dir, fmt.Sprint("ws/l", i))))
			}
		}
		attacks = append(attacks, a)
	}
	return attacks
}

// run makes the calls of a row, and checks the changes on disk.
func (a *attack) run(t *testing.T, s *shellServer) {
	if a.id == "p075" {
		must(t, os.RemoveAll(filepath.Join(a.dir, "root2")))
		must(t, os.Symlink("ws-evil", filepath.Join(a.dir, "root2")))
	}
	before := contents(t, a.dir)
	changes := false
	for _, try := range a.attempts() {
		got := s.wait(s.begin(try.tool, try.args))
		if wrong := try.judge(got); wrong != "" {
			t.Errorf("%s %.300v: %s; want %s: %.600s", try.tool, try.args, wrong, a.want, got.text)
		}
		if got.took > shellTime/4 {
			t.Errorf("%s took %v", try.tool, got.took)
		}
		changes = changes || try.want == doneCall && try.tool != "Read"
	}
	if after := contents(t, a.dir); !changes && after != before {
		t.Errorf("it changed something: before\n%s\nafter\n%s", before, after)
	}
	if text, err := os.ReadFile(filepath.Join(a.dir, "ws-evil/secret")); err != nil || string(text) != "SECRET" {
		t.Errorf("the secret is %q, %v", text, err)
	}
	switch a.id {
	case "p094":
		if info, err := os.Stat(filepath.Join(a.dir, "ws/f")); err != nil || info.Mode()&fs.ModeSetuid != 0 {
			t.Errorf("what was written runs with the rights of its owner: %v, %v", info.Mode(), err)
		}
	case "p097":
		if text, err := os.ReadFile(filepath.Join(a.dir, "ws/f")); err != nil || string(text) != "a\r\nB\nc\r\n" {
			t.Errorf("the file is %q, %v", text, err)
		}
	}
}

// starve makes the calls of a row while the server is out of descriptors or disk space.
func (a *attack) starve(t *testing.T, s *shellServer) {
	resource, limit := unix.RLIMIT_FSIZE, uint64(1000)
	path := filepath.Join(a.dir, "ws/big")
	attempts := []attempt{readOf(path, doneCall), {"Write", map[string]any{"file_path": path, "content": strings.Repeat("x", 5000)}, failedCall}}
	if a.id == "p085" {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
		must(t, err)
		resource, limit, attempts = unix.RLIMIT_NOFILE, uint64(len(open)+2), a.attempts()
	}
	var old unix.Rlimit
	must(t, unix.Prlimit(s.cmd.Process.Pid, resource, nil, &old))
	must(t, unix.Prlimit(s.cmd.Process.Pid, resource, &unix.Rlimit{Cur: limit, Max: old.Max}, nil))
	for _, try := range attempts {
		got := s.wait(s.begin(try.tool, try.args))
		if wrong := try.judge(got); wrong != "" {
			t.Errorf("%s: %s: %.600s", try.tool, wrong, got.text)
		}
	}
	must(t, unix.Prlimit(s.cmd.Process.Pid, resource, &old, nil))
	if got := s.call("Read", map[string]any{"file_path": s.file("fine", "fine")}); got.failed {
		t.Errorf("afterwards: %s", got.text)
	}
	if a.id == "p084" {
		entries, _ := os.ReadDir(filepath.Join(a.dir, "ws"))
		if text, err := os.ReadFile(path); err != nil || string(text) != "kept\n" || len(entries) != 1 {
			t.Errorf("it is %q, %v, beside %v", text, err, entries)
		}
	}
}

// contents lists a folder with the contents of its files.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q %v", path, d.Type())
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %d %.100q", len(text), text)
		}
		b.WriteByte('\n')
		return nil
	})
	must(t, err)
	return b.String()
}
