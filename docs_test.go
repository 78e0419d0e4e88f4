package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"mcp-toolset/internal/settings"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// The documents show commands in fenced blocks:
//
//   - console: lines that begin with "$ " are run in order, in a folder that is new for each
//     document, and the lines after them are the output. Spaces and line breaks are not compared,
//     so long lines may be wrapped; "..." stands for any text. The home folder is /home/you, the
//     working directory /home/you/app.
//   - console contained: the same, on a system on which the containment is in force.
//   - json file=NAME: settings; they are checked, and written to NAME in the working directory.
//   - json settings: settings that are only checked.
//   - sh, text, go and other json: shown only. Flags of mcp-toolset must exist.

var update = flag.Bool("update", false, "rewrite outputs in the documents that are not as shown")

// limits holds the documents that are checked, with the most lines each may have.
var limits = map[string]int{"README.md": 200, "ARCHITECTURE.md": 250, "CONTRIBUTING.md": 100, "SECURITY.md": 150, "docs/reference.md": 500}

const (
	pageLines   = 300  // of other documents in docs
	columns     = 100  // of a line; rows of tables in docs may be longer
	readmeWords = 1400 // of README.md, examples included
)

// documents returns the contents of the checked documents by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no documents in docs: %v", err)
	}
	for name := range limits {
		if filepath.Dir(name) == "." {
			pages = append(pages, name)
		}
	}
	texts := map[string]string{}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.ToSlash(page)] = string(data)
	}
	return texts
}

func TestDocumentSize(t *testing.T) {
	for name, text := range documents(t) {
		most, ok := limits[name]
		if !ok {
			most = pageLines
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > most {
			t.Errorf("%s has %d lines; the limit is %d", name, len(lines), most)
		}
		for i, line := range lines {
			if table := strings.HasPrefix(line, "|") && name != "README.md"; !table && utf8.RuneCountInString(line) > columns {
				t.Errorf("%s:%d: the line is longer than %d columns", name, i+1, columns)
			}
		}
		if words := len(strings.Fields(text)); name == "README.md" && words > readmeWords {
			t.Errorf("%s has %d words; the limit is %d", name, words, readmeWords)
		}
	}
}

var (
	linkText   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	fencedText = regexp.MustCompile("(?ms)^```.*?^```$")
)

// TestDocumentLinks checks that the file and the heading of each relative link exist.
func TestDocumentLinks(t *testing.T) {
	for name, text := range documents(t) {
		for _, m := range linkText.FindAllStringSubmatch(fencedText.ReplaceAllString(text, ""), -1) {
			link, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
				continue
			}
			if link.Scheme != "" {
				continue
			}
			target := name
			if link.Path != "" {
				target = filepath.Join(filepath.Dir(name), link.Path)
			}
			data, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); err != nil && (statErr != nil || !info.IsDir()) {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
				continue
			}
			if link.Fragment != "" && !slices.Contains(anchors(string(data)), link.Fragment) {
				t.Errorf("%s: %s has no heading for the link %s", name, target, m[1])
			}
		}
	}
}

// anchors returns the names by which links reach the headings of a document.
func anchors(text string) []string {
	var out []string
	for line := range strings.SplitSeq(fencedText.ReplaceAllString(text, ""), "\n") {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			slug := notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			out = append(out, strings.ReplaceAll(slug, " ", "-"))
		}
	}
	return out
}

var (
	ourLine  = regexp.MustCompile(`(?m)^.*\bmcp-toolset (?:[^&|#\n]|\\\n)*`)
	flagText = regexp.MustCompile(`(?:^|[\s"])(--[a-z][a-z-]*)`)
	flagSpan = regexp.MustCompile("`(--[a-z][a-z-]*)")
)

// TestDocumentFlags checks that the flags in examples and in the text exist.
func TestDocumentFlags(t *testing.T) {
	texts := documents(t)
	known := flagText.FindAllString(texts["docs/reference.md"], -1)
	for i := range known {
		known[i] = strings.TrimSpace(known[i])
	}
	others := []string{"--disallowedTools", "--to-command", "--transport", "--header", "--allow-unsafe-shell", "--flag"} // of other programs
	for name, text := range texts {
		var used []string
		for _, block := range fencedText.FindAllString(text, -1) {
			for _, line := range ourLine.FindAllString(block, -1) {
				for _, m := range flagText.FindAllStringSubmatch(line, -1) {
					used = append(used, m[1])
				}
			}
		}
		for _, m := range flagSpan.FindAllStringSubmatch(fencedText.ReplaceAllString(text, ""), -1) {
			used = append(used, m[1])
		}
		for _, f := range used {
			if !slices.Contains(known, f) && !slices.Contains(others, f) {
				t.Errorf("%s: docs/reference.md has no flag %s", name, f)
			}
		}
	}
}

// TestDocumentExamples runs the examples.
func TestDocumentExamples(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the outputs are those of Linux")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(bin, "mcp-toolset"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	report := newPage(t, bin).output("mcp-toolset doctor --json")
	contained := strings.Contains(report, `"holds": true`) && !strings.Contains(report, `"holds": false`)
	if contained { // otherwise there is no BashReadOnly
		checkFigures(t, newPage(t, bin), documents(t))
	}
	for name, text := range documents(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPage(t, bin)
			p.contained = contained
			got := p.run(text)
			if *update && got != text {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// checkFigures checks the figures and lists of tools in the text of documents.
func checkFigures(t *testing.T, p *page, texts map[string]string) {
	const list = "mcp-toolset tools --deferral dispatch"
	total := regexp.MustCompile(`(\d+) of them loaded`).FindStringSubmatch(p.output(list + " | tail -1"))
	if total == nil {
		t.Fatal("mcp-toolset tools prints no total")
	}
	tokens, err := strconv.Atoi(total[1])
	if err != nil {
		t.Fatal(err)
	}
	tokens = (tokens + 50) / 100 * 100
	all := strings.Fields(p.output(list + ` | awk '$NF ~ /^[0-9]+$/ { print $1 }'`))
	loaded := strings.Fields(p.output(list + ` | awk '$(NF-1) == "always" { print $1 }'`))
	if want := fmt.Sprintf("| %d of %d tools, %d,%03d tokens |", len(loaded), len(all), tokens/1000, tokens%1000); !strings.Contains(texts["README.md"], want) {
		t.Errorf("README.md does not have the figures %q", want)
	}
	row := regexp.MustCompile("(?m)^\\| `dispatch` \\| (.*) and (\\w+);").FindStringSubmatch(texts["docs/upstream.md"])
	if row == nil {
		t.Fatal("docs/upstream.md has no row dispatch")
	}
	shown := append(strings.Split(row[1], ", "), row[2])
	slices.Sort(shown)
	if !slices.Equal(shown, loaded) {
		t.Errorf("docs/upstream.md, dispatch: %q, and the list has %q", shown, loaded)
	}
}

// page is a document whose examples run.
type page struct {
	t         *testing.T
	home      string
	env       []string
	contained bool
}

func newPage(t *testing.T, bin string) *page {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, home: home, env: []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TERM=dumb", "LANG=C.UTF-8", "TMPDIR=" + t.TempDir()}}
	p.env = append(p.env, "GOGC=400")                                                                      // short runs need no garbage collection
	for _, dir := range []string{p.dir(), filepath.Join(p.dir(), "build"), filepath.Join(home, "notes")} { // notes is an additional directory
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	client := fmt.Sprintf(`{"mcpServers": {"toolset": {"command": %q, "args": ["stdio"]}}}`, filepath.Join(bin, "mcp-toolset"))
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(client), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *page) dir() string { return filepath.Join(p.home, "app") }

// output runs a command and returns its output, with the paths of the documents.
func (p *page) output(command string) string {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = p.dir(), p.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatalf("%s: %v", command, err)
	}
	return strings.ReplaceAll(string(out), p.home, "/home/you")
}

// run runs the examples of a document and returns it with the outputs found.
func (p *page) run(text string) string {
	var out strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		info, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "```")
		if !ok {
			continue
		}
		from := i + 1
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
		}
		block := lines[from:min(i, len(lines))]
		switch kind, argument, _ := strings.Cut(info, " "); {
		case kind == "console" && (argument != "contained" || p.contained):
			out.WriteString(p.console(block, from))
		case kind == "json":
			p.settings(argument, strings.Join(block, ""), from)
			fallthrough
		default:
			out.WriteString(strings.Join(block, ""))
		}
		if i < len(lines) {
			out.WriteString(lines[i])
		}
	}
	return out.String()
}

// settingsSchema returns the JSON schema of settings files.
func settingsSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(settings.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// settings checks a block of JSON and writes it to its file.
func (p *page) settings(argument, text string, line int) {
	if !json.Valid([]byte(text)) {
		p.t.Errorf("line %d: not JSON", line)
	}
	name, named := strings.CutPrefix(argument, "file=")
	if !named && argument != "settings" {
		return
	}
	if !named {
		name = "checked.json"
		defer os.Remove(filepath.Join(p.dir(), name))
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err == nil {
		if err := settingsSchema(p.t).Validate(value); err != nil {
			p.t.Errorf("line %d: the settings do not meet their schema: %v", line, err)
		}
	}
	file := filepath.Join(p.dir(), name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		file = filepath.Join(p.home, rest)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	if out := p.output("mcp-toolset policy check " + file); !strings.HasPrefix(out, "ok") {
		p.t.Errorf("line %d: policy check prints\n%s", line, out)
	}
}

// console runs the commands of a block and returns it with the outputs found.
func (p *page) console(block []string, line int) string {
	var out strings.Builder
	for i := 0; i < len(block); {
		command, ok := strings.CutPrefix(block[i], "$ ")
		if !ok {
			p.t.Errorf("line %d: output without a command", line+i+1)
			return strings.Join(block, "")
		}
		at := line + i + 1
		out.WriteString(block[i])
		for i++; i < len(block) && strings.HasSuffix(command, "\\\n"); i++ {
			command += block[i]
			out.WriteString(block[i])
		}
		from := i
		for i < len(block) && !strings.HasPrefix(block[i], "$ ") {
			i++
		}
		want := strings.Join(block[from:i], "")
		got := p.output(command)
		switch {
		case matches(want, got):
			out.WriteString(want)
		case *update:
			out.WriteString(wrap(got))
		default:
			p.t.Errorf("line %d: %sprints\n%s\nand the document shows\n%s", at, command, got, want)
		}
	}
	return out.String()
}

// matches reports whether an output is as shown.
func matches(shown, got string) bool {
	parts := strings.Split(strings.Join(strings.Fields(shown), " "), "...")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	ok, err := regexp.MatchString(`(?s)^`+strings.Join(parts, ".*")+`$`, strings.Join(strings.Fields(got), " "))
	return err == nil && ok
}

// wrap breaks the long lines of an output between words.
func wrap(text string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		for utf8.RuneCountInString(line) > columns {
			at := strings.LastIndexByte(string([]rune(line)[:columns]), ' ')
			if at <= 4 {
				break
			}
			fmt.Fprintln(&out, line[:at])
			line = "    " + line[at+1:]
		}
		fmt.Fprintln(&out, line)
	}
	return out.String()
}
