package cli

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	gotoken "go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/settings"
)

// module is the folder of the module.
const module = "../.."

// TestReference checks that docs/reference.md matches flags, environment variables, settings and
// limits of the code, and docs/settings.schema.json the schema.
func TestReference(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("<!-- made by `go test ./internal/cli -update`: do not edit -->\n# Reference\n\n" +
		"[Flags](#flags), [environment variables](#environment-variables), [settings](#settings),\n[limits](#limits)\n")
	referenceFlags(&b)
	b.WriteString("\n## Environment variables\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range environment {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.name, v.meaning)
	}
	b.WriteString("\n## Settings\n\n[permissions.md](permissions.md#share-settings-and-trust-a-projects) has the files and their order.\n\n" +
		"A running server takes over a change of the keys with *yes* in the last column; others need a new\nstart.\n\n" +
		"| key | value | meaning | while it runs |\n|---|---|---|---|\n")
	for _, key := range settings.Keys() {
		live := ""
		if settings.Live(key.Name) {
			live = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", key.Name, inTable(key.Value), inTable(key.Meaning), live)
	}
	b.WriteString("\n## Limits\n\n| limit | value |\n|---|---|\n")
	for _, l := range limits {
		fmt.Fprintf(&b, "| %s | %s |\n", l.what, l.value(t))
	}
	compare(t, filepath.Join(module, "docs/reference.md"), b.String())
	compare(t, filepath.Join(module, "docs/settings.schema.json"), string(settings.Schema()))
}

func inTable(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// compare compares a generated file with want, or writes it.
func compare(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not up to date; run go test ./internal/cli -update (-want +got):\n%s", file, diff)
	}
}

// referenceFlags writes the flags of all servers by section, then those of each command.
func referenceFlags(b *bytes.Buffer) {
	root := newRoot(&Host{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }})
	b.WriteString("\n## Flags\n\nFlags stand before or after arguments. `mcp-toolset COMMAND --help` prints those of a command.\n" +
		"Every command that starts a server accepts the flags of servers, with the exceptions below them.\n\n### Servers\n\n```text\n")
	for _, title := range sections[1:] {
		seen := map[string]bool{}
		var flags []*pflag.Flag
		for _, cmd := range root.Commands() {
			if name := cmd.Name(); name == "stdio" || name == "http" {
				cmd.Flags().VisitAll(func(f *pflag.Flag) {
					if section := f.Annotations[sectionKey]; len(section) > 0 && section[0] == title && !f.Hidden && !seen[f.Name] {
						seen[f.Name] = true
						flags = append(flags, f)
					}
				})
			}
		}
		slices.SortFunc(flags, func(a, b *pflag.Flag) int { return strings.Compare(a.Name, b.Name) })
		fmt.Fprintf(b, "%s:\n", title)
		for _, f := range flags {
			writeFlag(b, f, helpWidth)
		}
	}
	b.WriteString("```\n\n`--drain` and `--trace` belong to `stdio` and `http`, those of HTTP to `http`, and\n`--ordered-results` to `stdio`.\n")
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			each(sub)
		}
		if cmd.HasSubCommands() || cmd.Name() == "help" || cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return
		}
		var own bytes.Buffer
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if section := f.Annotations[sectionKey]; (len(section) == 0 || section[0] == "") && f.Name != "help" {
				writeFlag(&own, f, helpWidth)
			}
		})
		if own.Len() > 0 {
			fmt.Fprintf(b, "\n### %s\n\n```text\n%s```\n", strings.TrimPrefix(cmd.CommandPath(), "mcp-toolset "), own.String())
		}
	}
	each(root)
}

var readVariable = regexp.MustCompile(`(?i:getenv|envInt|lookupenv)\((?:host, )?"([A-Z_0-9]+)"`)

// TestEnvironment compares the described variables with those that the code reads.
func TestEnvironment(t *testing.T) {
	var code strings.Builder
	err := filepath.WalkDir(module, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bench" || d.Name() == "e2e" || d.Name() == "testdata" || d.Name() == "testscale" || d.Name() == "toolstest" || strings.HasPrefix(d.Name(), ".") && file != module):
			return filepath.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// Read to find the caches and the registries of build tools, and in the place of git.
	toolchain := []string{"GIT_INDEX_FILE", "GIT_REFLOG_ACTION", "HOME", "GIT_CONFIG_COUNT", "GOENV", "PATH", "GOPROXY", "NPM_CONFIG_USERCONFIG", "PIP_CONFIG_FILE", "CARGO_HOME"}
	for _, m := range readVariable.FindAllStringSubmatch(code.String(), -1) {
		described := slices.ContainsFunc(environment, func(v variable) bool { return v.name == m[1] })
		if !described && !slices.Contains(toolchain, m[1]) {
			t.Errorf("the code reads %s, which environment does not describe", m[1])
		}
	}
	for _, v := range environment {
		if !strings.Contains(code.String(), `"`+v.name+`"`) {
			t.Errorf("no code reads %s", v.name)
		}
	}
}

// limit is a limit of the code: a constant, or a value that a package exports.
type limit struct {
	what  string
	dir   string // of the constant's package
	name  string // of the constant
	bytes bool
	given int64 // the value, if there is no constant
}

var limits = []limit{
	{what: "a message over stdio", dir: "server", name: "defaultMaxLine", bytes: true},
	{what: "requests in flight on a stdio connection; a further one is answered with error -32000, to be sent again", dir: "server", name: "maxInFlight"},
	{what: "their size in all", dir: "server", name: "maxInFlightBytes", bytes: true},
	{what: "the body of an HTTP request", dir: "server", name: "maxBody", bytes: true},
	{what: "open HTTP connections; more wait", dir: "server", name: "maxConns"},
	{what: "HTTP sessions", dir: "server", name: "maxSessions"},
	{what: "running background tasks of a session", dir: "internal/exec/task", name: "maxRunning"},
	{what: "tasks on a list of work", dir: "internal/record/worklist", name: "maxItems"},
	{what: "texts of a list of work", dir: "internal/record/worklist", name: "maxText", bytes: true},
	{what: "timeout of a background task", dir: "tools/bash", name: "mostBackground"},
	{what: "stored output of one command", given: spool.DefaultQuota.Task, bytes: true},
	{what: "stored output of all commands", given: spool.DefaultQuota.All, bytes: true},
	{what: "files of stored output", dir: "internal/exec/spool", name: "maxFiles"},
	{what: "age of stored output and results", dir: "internal/record/store", name: "MaxAge"},
	{what: "stored results", dir: "internal/record/results", name: "Quota", bytes: true},
	{what: "age of an unused layer of caches", dir: "internal/exec/command", name: "layerAge"},
	{what: "a notebook", dir: "internal/file/document", name: "maxNotebook", bytes: true},
	{what: "a PDF file", dir: "internal/file/document", name: "maxPDF", bytes: true},
	{what: "an office file", dir: "internal/file/document", name: "maxOffice", bytes: true},
	{what: "an office file, unpacked", dir: "internal/file/document/office", name: "maxUnpacked", bytes: true},
	{what: "an image file", dir: "internal/file/document/picture", name: "maxFile", bytes: true},
	{what: "pixels of an image", dir: "internal/file/document/picture", name: "maxPixels"},
	{what: "memory of the process that reads them", dir: "internal/file/document", name: "maxMemory", bytes: true},
	{what: "time of that process", dir: "internal/file/document", name: "maxTime"},
	{what: "timeout of connecting to an upstream server", dir: "upstream", name: "connectTimeout"},
	{what: "timeout of a call of an upstream tool", dir: "upstream", name: "callTimeout"},
	{what: "the answer of an upstream server", dir: "upstream", name: "maxAnswer", bytes: true},
	{what: "the tool list of an upstream server", dir: "upstream", name: "maxList", bytes: true},
	{what: "tools of an upstream server", dir: "upstream", name: "maxItems"},
	{what: "files whose reads a session remembers", dir: "session", name: "maxReads"},
	{what: "skills", dir: "skills", name: "maxSkills"},
	{what: "the `SKILL.md` of a skill", dir: "skills", name: "maxFile", bytes: true},
	{what: "files of a skill that `skills/list` serves", dir: "skills", name: "maxFiles"},
	{what: "bytes of a search pattern", dir: "internal/search/pattern", name: "maxPattern"},
}

// value formats the value of a limit.
func (l limit) value(t *testing.T) string {
	t.Helper()
	n, duration := l.given, false
	if l.name != "" {
		var err error
		if n, duration, err = declared(filepath.Join(module, l.dir), l.name); err != nil {
			t.Fatalf("%s: %v", l.what, err)
		}
	}
	switch {
	case duration && n%int64(24*time.Hour) == 0:
		return fmt.Sprintf("%d days", n/int64(24*time.Hour))
	case duration:
		return shortDuration(time.Duration(n))
	case l.bytes && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case l.bytes && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case l.bytes && n%1_000_000 == 0:
		return fmt.Sprintf("%d MB", n/1_000_000)
	}
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// declared returns the value of a constant or variable of a package, and whether it is a duration.
func declared(dir, name string) (value int64, duration bool, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return 0, false, err
	}
	values := map[string]ast.Expr{}
	for _, file := range files {
		f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
		if err != nil {
			return 0, false, err
		}
		for _, d := range f.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range group.Specs {
				if spec, ok := s.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
					for i, id := range spec.Names {
						values[id.Name] = spec.Values[i]
					}
				}
			}
		}
	}
	expr, ok := values[name]
	if !ok {
		return 0, false, fmt.Errorf("%s declares no %s", dir, name)
	}
	v := evaluate(expr, values, &duration)
	n, exact := constant.Int64Val(v)
	if !exact {
		return 0, false, fmt.Errorf("%s.%s is no whole number", dir, name)
	}
	return n, duration, nil
}

var units = map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

// evaluate returns the value of a constant expression. It notes whether package time is in it.
func evaluate(expr ast.Expr, values map[string]ast.Expr, duration *bool) constant.Value {
	switch e := expr.(type) {
	case *ast.BasicLit:
		return constant.ToInt(constant.MakeFromLiteral(e.Value, e.Kind, 0))
	case *ast.ParenExpr:
		return evaluate(e.X, values, duration)
	case *ast.Ident:
		if v, ok := values[e.Name]; ok {
			return evaluate(v, values, duration)
		}
	case *ast.SelectorExpr:
		if unit, ok := units[e.Sel.Name]; ok {
			*duration = true
			return constant.MakeInt64(int64(unit))
		}
	case *ast.BinaryExpr:
		x, y := evaluate(e.X, values, duration), evaluate(e.Y, values, duration)
		if e.Op == gotoken.SHL {
			by, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(by))
		}
		return constant.BinaryOp(x, e.Op, y)
	}
	return constant.MakeUnknown()
}
