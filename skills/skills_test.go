package skills

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// write writes files below a folder. A content "-> X" is a link to X, "dir" a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(strings.ReplaceAll(to, "$DIR", dir), path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil && runtime.GOOS == "windows" && strings.HasPrefix(content, "-> ") {
			t.Skip(err) // links need a privilege there
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func temp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

const valid = "---\nname: NAME\ndescription: Does it.\n---\nBody.\n"

// TestFixtures checks what becomes of each kind of file: the skill is loaded or not, and what
// the issue is, if any.
func TestFixtures(t *testing.T) {
	front := func(text string) map[string]string {
		return map[string]string{"x/SKILL.md": "---\n" + text + "---\nBody.\n"}
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nname: x\ndescription: d\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // names with their descriptions, then issues
	}{
		{"valid", front("name: x\ndescription: Does it.\n"), "x=Does it."},
		{"quoted", front("name: \"x\"\ndescription: 'Does: it.'\n"), "x=Does: it."},
		{"folded", front("name: x\ndescription: >\n  Does\n  it.\n"), "x=Does it."},
		{"literal", front("name: x\ndescription: |\n  Does\n  it.\n"), "x=Does it."},
		{"plain over lines", front("name: x\ndescription: Does\n  it.\n"), "x=Does it."},
		{"colon", front("name: x\ndescription: Use when: it rains\n"), "x=Use when: it rains\nx/SKILL.md:3: the front matter is not valid YAML: mapping values are not allowed in this context; it was read with quoted values, and other programs ignore such a skill"},
		{"colon over lines", front("name: x\ndescription: Use when: it\n  rains: hard\nlicense: MIT\n"), "x=Use when: it rains: hard\nx/SKILL.md:3: the front matter is not valid YAML: mapping values are not allowed in this context; it was read with quoted values, and other programs ignore such a skill"},
		{"colon and apostrophe", front("name: x\ndescription: Don't: do it\n"), "x=Don't: do it\nx/SKILL.md:3: the front matter is not valid YAML: mapping values are not allowed in this context; it was read with quoted values, and other programs ignore such a skill"},
		{"at sign", front("name: x\ndescription: @docs are read\n"), "x=@docs are read\nx/SKILL.md:3: the front matter is not valid YAML: found character that cannot start any token; it was read with quoted values, and other programs ignore such a skill"},
		{"tab", front("name: x\ndescription: d\nmetadata:\n\tversion: 1\n"), "x=d\nx/SKILL.md:5: the front matter is not valid YAML: found character that cannot start any token; it was read with quoted values, and other programs ignore such a skill"},
		{"tab after the colon", front("name:\tx\ndescription:\tDoes it.\n"), "x=Does it."},
		{"CRLF", map[string]string{"x/SKILL.md": "---\r\nname: x\r\ndescription: Does it.\r\n---\r\nBody.\r\n"}, "x=Does it."},
		{"BOM", map[string]string{"x/SKILL.md": "\ufeff---\nname: x\ndescription: Does it.\n---\n"}, "x=Does it."},
		{"spaces after the dashes", map[string]string{"x/SKILL.md": "---  \nname: x\ndescription: Does it.\n--- \n"}, "x=Does it."},
		{"no line at the end", map[string]string{"x/SKILL.md": "---\nname: x\ndescription: Does it.\n---"}, "x=Does it."},
		{"other keys", front("name: x\ndescription: d\nlicense: MIT\nmodel: opus\nhooks:\n  a: [1, 2]\n"), "x=d"},
		{"when_to_use", front("name: x\ndescription: Does it.\nwhen_to_use: When it rains.\n"), "x=Does it. When it rains."},
		{"duplicate key", front("name: x\ndescription: a\ndescription: b\n"), "x/SKILL.md:4: the front matter is not valid YAML: mapping key \"description\" already defined at line 2"},
		{"alias bomb", front(bomb), "x/SKILL.md:2: the front matter has an alias; write the value out"},
		{"deep", front("name: x\ndescription: d\na: " + strings.Repeat("[", 30) + strings.Repeat("]", 30) + "\n"), "x/SKILL.md:4: the front matter is nested more than 20 deep"},
		{"very deep", front("name: x\ndescription: d\na: " + strings.Repeat("[", 20000) + "\n"), "x/SKILL.md:4: the front matter is not valid YAML: exceeded max depth of 10000"},
		{"no front matter", map[string]string{"x/SKILL.md": "# X\n"}, "x/SKILL.md:1: does not begin with front matter; put name and description between two lines ---"},
		{"empty", map[string]string{"x/SKILL.md": ""}, "x/SKILL.md:1: does not begin with front matter; put name and description between two lines ---"},
		{"no end", map[string]string{"x/SKILL.md": "---\nname: x\ndescription: d\n"}, "x/SKILL.md:1: has front matter without a line --- after it"},
		{"empty front matter", front(""), "x/SKILL.md:2: the front matter is not a list of keys and values"},
		{"a list", front("- name\n"), "x/SKILL.md:2: the front matter is not a list of keys and values"},
		{"large front matter", front("name: x\ndescription: d\na: " + strings.Repeat("x", 70000) + "\n"), "x/SKILL.md:1: has front matter of more than 65536 bytes, or without a line --- after it"},
		{"no description", front("name: x\n"), "x/SKILL.md:2: it has no description; add one that names what the skill does and when to use it"},
		{"null description", front("name: x\ndescription:\n"), "x/SKILL.md:3: it has no description; add one that names what the skill does and when to use it"},
		{"description is a list", front("name: x\ndescription: [a]\n"), "x/SKILL.md:3: it has no description; add one that names what the skill does and when to use it"},
		{"no name", front("description: d\n"), "x=d\nx/SKILL.md:2: it has no name, so that of its folder is used, x"},
		{"other name", front("name: y\ndescription: d\n"), "y=d\nx/SKILL.md:2: the name is y and that of its folder x; other programs ignore such a skill"},
		{"wrong name", front("name: My Skill\ndescription: d\n"), "x=d\nx/SKILL.md:2: the name \"My Skill\" cannot be used, so that of its folder is, x; a name has 1 to 64 small letters, digits and single hyphens"},
		{"wrong name and folder", map[string]string{"X_Y/SKILL.md": "---\nname: X Y\ndescription: d\n---\n"}, "X_Y/SKILL.md:2: neither its name \"X Y\" nor that of its folder can be used; a name has 1 to 64 small letters, digits and single hyphens"},
		{"not UTF-8", map[string]string{"x/SKILL.md": "---\nname: x\ndescription: \xff\n---\n"}, "x/SKILL.md: is not valid UTF-8"},
		{"control characters", front("name: x\ndescription: \"a\\u001b[31m\\u202eb\"\n"), `x=a\x1b[31m\u202eb`},
		{"2 MB", map[string]string{"x/SKILL.md": "---\nname: x\ndescription: d\n---\n" + strings.Repeat("x", 2<<20)}, "x/SKILL.md: cannot be read: it is larger than 1048576 bytes"},
		{"nested in a group", map[string]string{"g/h/x/SKILL.md": strings.Replace(valid, "NAME", "x", 1)}, "x=Does it."},
		{"nested too deep", map[string]string{"g/h/i/x/SKILL.md": strings.Replace(valid, "NAME", "x", 1)}, ""},
		{"nested in a skill", map[string]string{"x/SKILL.md": strings.Replace(valid, "NAME", "x", 1), "x/y/SKILL.md": strings.Replace(valid, "NAME", "y", 1)}, "x=Does it."},
		{"hidden folder", map[string]string{".x/SKILL.md": strings.Replace(valid, "NAME", "x", 1)}, ""},
		{"lower case", map[string]string{"x/skill.md": strings.Replace(valid, "NAME", "x", 1)}, ""},
		{"folder without", map[string]string{"x/README.md": "x"}, ""},
		{"link inside", map[string]string{"x/SKILL.md": strings.Replace(valid, "NAME", "x", 1), "y": "-> x"}, "x=Does it."},
		{"link out", map[string]string{"x": "-> $DIR/../out"}, "x: is a link that leads out of its place; put the folder itself there"},
		{"link to nothing", map[string]string{"x": "-> gone"}, "x: is a link that leads nowhere"},
		{"file links out", map[string]string{"x/SKILL.md": "-> $DIR/../out/SKILL.md"}, "x/SKILL.md: cannot be read: it is a link that leads out of the folder"},
		{"file links inside", map[string]string{"x/SKILL.md": "-> real.md", "x/real.md": strings.Replace(valid, "NAME", "x", 1)}, "x=Does it."},
		{"link in a circle", map[string]string{"g/x": "-> $DIR/g"}, ""},
		{"the same name twice", map[string]string{"a/x/SKILL.md": strings.Replace(valid, "NAME", "x", 1), "b/x/SKILL.md": strings.Replace(valid, "NAME", "x", 1)}, "x=Does it.\nb/x/SKILL.md: is not used: the skill x of the project takes precedence ($DIR/a/x/SKILL.md)"},
		{"one of two", map[string]string{"x/SKILL.md": "---\n", "y/SKILL.md": strings.Replace(valid, "NAME", "y", 1)}, "y=Does it.\nx/SKILL.md:1: has front matter without a line --- after it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := temp(t)
			dir := filepath.Join(base, "skills")
			write(t, base, map[string]string{"out/SKILL.md": strings.Replace(valid, "NAME", "x", 1)})
			write(t, dir, c.files)
			set := Scan([]Source{{Dir: dir, Layer: Project}}, nil)
			var got []string
			for _, k := range set.Skills {
				got = append(got, k.Name+"="+k.Description)
			}
			for _, i := range set.Issues {
				got = append(got, strings.TrimPrefix(i.String(), dir+string(filepath.Separator)))
			}
			if text := strings.ReplaceAll(strings.Join(got, "\n"), dir, "$DIR"); text != c.want {
				t.Errorf("have %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	dir := temp(t)
	skill := strings.Replace(valid, "NAME", "x", 1)
	write(t, dir, map[string]string{
		"machine/x/SKILL.md": skill, "line/x/SKILL.md": skill, "home/.claude/skills/x/SKILL.md": skill, "home/.agents/skills/y/SKILL.md": strings.Replace(valid, "NAME", "y", 1),
		"home/.claude/skills/y": "-> ../../.agents/skills/y", "project/.claude/skills/x/SKILL.md": skill, "project/.claude/skills/z": "-> $DIR/home/.agents/skills/y",
		"other/.claude": "-> $DIR/project/.claude",
	})
	home := []string{filepath.Join(dir, "home/.claude/skills"), filepath.Join(dir, "home/.agents/skills")}
	sources := []Source{
		{Dir: filepath.Join(dir, "machine"), Layer: Machine}, {Dir: filepath.Join(dir, "line"), Layer: CommandLine},
		{Dir: home[0], Layer: User, Within: home}, {Dir: home[1], Layer: User, Within: home},
		{Dir: filepath.Join(dir, "project/.claude/skills"), Layer: Project, Within: []string{filepath.Join(dir, "project")}},
		{Dir: filepath.Join(dir, "other/.claude/skills"), Layer: Project, Within: []string{filepath.Join(dir, "other")}},
		{Dir: filepath.Join(dir, "gone"), Layer: CommandLine}, {Dir: filepath.Join(dir, "gone"), Layer: User},
	}
	set := Scan(sources, nil)
	if len(set.Skills) != 2 || set.Skills[0].Layer != Machine || set.Skills[1].Layer != User {
		t.Errorf("%+v", set.Skills)
	}
	var issues []string
	for _, i := range set.Issues {
		issues = append(issues, strings.ReplaceAll(i.String(), dir, ""))
	}
	want := `/project/.claude/skills/z: is a link that leads out of its place; put the folder itself there
/other/.claude/skills: is a link that leads out of its place; put the folder itself there
/gone: cannot be opened: no such file or directory
/line/x/SKILL.md: is not used: the skill x of the machine takes precedence (/machine/x/SKILL.md)
/home/.claude/skills/x/SKILL.md: is not used: the skill x of the machine takes precedence (/machine/x/SKILL.md)
/project/.claude/skills/x/SKILL.md: is not used: the skill x of the machine takes precedence (/machine/x/SKILL.md)`
	if got := strings.Join(issues, "\n"); got != want {
		t.Errorf("have\n%s\nwant\n%s", got, want)
	}
	denied := Scan(sources[:2], func(k *Skill) string { return "denied by the rule Skill(" + k.Name + ")" })
	if len(denied.Skills) != 0 || !strings.HasSuffix(denied.Issues[0].String(), "is not used: denied by the rule Skill(x)") {
		t.Errorf("%+v", denied)
	}
}

func TestTooMany(t *testing.T) {
	dir := temp(t)
	files := map[string]string{}
	for i := range maxSkills + 5 {
		name := fmt.Sprintf("s%03d", i)
		files[name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: " + strings.Repeat("d", 500) + "\n---\n"
	}
	write(t, dir, files)
	set := Scan([]Source{{Dir: dir, Layer: User}}, nil)
	if len(set.Skills) != maxSkills || len(set.Issues) != 1 || !strings.Contains(set.Issues[0].Text, "is left out with all that follow") {
		t.Errorf("%d skills, %v", len(set.Skills), set.Issues)
	}
	for room, want := range map[int]string{1500: "s000, s001", 200000: "- s000: " + strings.Repeat("d", 500) + "\n", 20000: "- s000: " + strings.Repeat("d", 69) + "…\n", 1000: "s000, s001"} {
		text := set.Catalogue(room)
		if len(text) > room || !strings.HasPrefix(text, want) || room == 1000 && !strings.HasSuffix(text, "more, which ToolSearch finds by words\n") {
			t.Errorf("%d: %d bytes, %.100q", room, len(text), text)
		}
	}
}

func TestText(t *testing.T) {
	dir := temp(t)
	write(t, dir, map[string]string{
		"x/SKILL.md":    "---\nname: x\ndescription: d\nallowed-tools: Bash(git *), Read\n---\nAll: $ARGUMENTS. First: $0, $ARGUMENTS[1], $7, $100.\n${CLAUDE_SKILL_DIR}/run.sh in ${CLAUDE_PROJECT_DIR}\n!`rm -rf /`\n",
		"x/scripts/run": "", "x/.git/config": "", "x/out": "-> /etc/passwd",
		"y/SKILL.md": "---\nname: y\ndescription: d\n---\nBody.\n",
	})
	set := Scan([]Source{{Dir: dir, Layer: User}}, nil)
	got, err := set.Lookup("/x").Text(`a$0 "b c"`, "/p")
	want := "Skill x (user). Its base folder, at which relative paths in it begin: " + dir + "/x\nFiles: scripts/run\n\n" +
		"All: a$0 \"b c\". First: a$0, b c, $7, $100.\n" + dir + "/x/run.sh in /p\n!`rm -rf /`\n\n" +
		"[1 of its lines have a command as !`command`. Here they are text and were not run: run those that you need with Bash.]\n\n" +
		"[Its allowed-tools (Bash(git *), Read) have no effect here: each call is decided as any other.]"
	if err != nil || got != want {
		t.Errorf("%v\nhave %s\nwant %s", err, got, want)
	}
	if got, err = set.Lookup("y").Text("a b", ""); err != nil || !strings.HasSuffix(got, "\n\nBody.\n\nArguments: a b") {
		t.Errorf("%v, %s", err, got)
	}
	if fact, next := set.Unknown("z"); fact != "there is no skill z" || next != "Use one of x, y." {
		t.Errorf("%s. %s", fact, next)
	}
}

func TestEntries(t *testing.T) {
	dir := temp(t)
	write(t, dir, map[string]string{
		"x/SKILL.md": "---\nname: x\ndescription: d\nmetadata: {version: 1.50, when: 2026-01-02, on: true, list: [1, ~]}\n---\nBody.\n", "x/a b/c.txt": "hello", "x/node_modules/m": "", "x/link": "-> SKILL.md",
		"y/SKILL.md": "---\nname: y\ndescription: a: b\n---\n",
	})
	set := Scan([]Source{{Dir: dir, Layer: User}}, nil)
	e, err := set.Lookup("x").Entry()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(e.Frontmatter); got != `{"name":"x","description":"d","metadata":{"version":1.5,"when":"2026-01-02","on":true,"list":[1,null]}}` {
		t.Error(got)
	}
	var uris []string
	for _, r := range e.Resources {
		data, _, err := set.Read(r.URI)
		if err != nil || int64(len(data)) != r.Size {
			t.Errorf("%s: %d bytes, %v", r.URI, len(data), err)
		}
		uris = append(uris, r.URI)
	}
	if got := strings.Join(uris, " "); got != "skill://x/SKILL.md skill://x/a%20b/c.txt skill://x/link" {
		t.Error(got)
	}
	if got := e.Resources[1].Digest; got != "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Error(got)
	}
	write(t, dir, map[string]string{"x/a b/c.txt": "hello!"})
	if again, err := set.Lookup("x").Entry(); err != nil || again.Resources[1].Digest == e.Resources[1].Digest {
		t.Errorf("a changed file has the same digest: %v", err)
	}
	if _, err := set.Lookup("y").Entry(); err == nil {
		t.Error("front matter that other readers refuse is served")
	}
	for _, uri := range []string{"skill://x", "skill://x/", "skill://x/../y/SKILL.md", "skill://x/a b/c.txt", "skill://x//SKILL.md", "skill://x/node_modules/m", "skill://z/SKILL.md", "skill:///x/SKILL.md", "file:///etc/passwd", "skill://x/%2e%2e/y/SKILL.md", "skill:// x/SKILL.md"} {
		if _, _, err := set.Read(uri); err == nil {
			t.Errorf("%s can be read", uri)
		}
	}
	for uri, want := range map[string]string{
		"skill://x":       "skill://x/SKILL.md text/markdown, skill://x/a%20b inode/directory, skill://x/link ",
		"skill://x/a%20b": "skill://x/a%20b/c.txt ",
	} {
		list, err := set.List(uri)
		var got []string
		for _, l := range list {
			got = append(got, l.URI+" "+l.Type)
		}
		if strings.Join(got, ", ") != want || err != nil {
			t.Errorf("%s: %q, %v", uri, got, err)
		}
	}
	for uri, want := range map[string]string{
		"skill://x/":             "there is no resource skill://x/",
		"skill://x/..":           "there is no resource skill://x/..",
		"skill://x/node_modules": "there is no resource skill://x/node_modules",
		"skill://z":              "there is no resource skill://z",
		"x":                      "there is no resource x",
		"skill://x/SKILL.md":     "skill://x/SKILL.md is no folder of a skill",
		"skill://x/absent":       "skill://x/absent is no folder of a skill",
	} {
		if list, err := set.List(uri); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", uri, list, err)
		}
	}
	for name, files := range map[string]map[string]string{"many": {}, "large": {"large/a": strings.Repeat("x", 10<<20), "large/b": strings.Repeat("x", 10<<20)}} {
		for i := range maxFiles {
			if name == "many" {
				files[fmt.Sprintf("many/f%d", i)] = ""
			}
		}
		files[name+"/SKILL.md"] = strings.Replace(valid, "NAME", name, 1)
		write(t, dir, files)
		set := Scan([]Source{{Dir: dir, Layer: User}}, nil)
		if _, err := set.Lookup(name).Entry(); err != errTooMuch {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := set.List("skill://" + name); (err != nil) != (name == "many") || err != nil && err.Error() != "skill://many cannot be listed: it has more than 512 files or 16 MiB" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLive(t *testing.T) {
	dir := temp(t)
	write(t, dir, map[string]string{"x/SKILL.md": "---\nname: x\ndescription: d\npaths: \"src/**/*.{ts,tsx}, *.md\"\n---\n"})
	synctest.Test(t, func(t *testing.T) {
		l := NewLive([]Source{{Dir: dir, Layer: User}}, nil)
		changes := 0
		l.OnChange(func(*Set) { changes++ })
		write(t, dir, map[string]string{"y/SKILL.md": strings.Replace(valid, "NAME", "y", 1)})
		if len(l.Now().Skills) != 1 || changes != 0 {
			t.Error("the folders are looked at twice in a second")
		}
		time.Sleep(lookEvery)
		if len(l.Now().Skills) != 2 || changes != 1 {
			t.Error("a new skill is not seen")
		}
		time.Sleep(lookEvery)
		if l.Now(); changes != 1 {
			t.Error("a change without a change")
		}
		a := session.New(session.Config{ID: "1", Roots: []string{"/p"}}).View()
		b := session.New(session.Config{ID: "2", Roots: []string{"/p"}}).View()
		for _, c := range []struct {
			v    session.View
			file string
			want bool
		}{{a, "/p/src/a.go", false}, {a, "/q/src/a.ts", false}, {a, "/p/sub/a.md", false}, {a, "/p/src/b/a.tsx", true}, {a, "/p/a.md", false}, {b, "/p/a.md", true}} {
			if got := l.Applies(c.v, c.file); (got == "[The skill x applies to this file: d. Load it with the tool Skill.]") != c.want {
				t.Errorf("%s: %q", c.file, got)
			}
		}
		l.Forget(a.Owner())
		if l.Applies(a, "/p/a.md") == "" {
			t.Error("a new session is not told")
		}
	})
}

// TestLiveParallel lets many goroutines use the set while files change, for the race detector.
func TestLiveParallel(t *testing.T) {
	dir := temp(t)
	write(t, dir, map[string]string{"x/SKILL.md": "---\nname: x\ndescription: d\npaths: \"*.md\"\n---\n"})
	synctest.Test(t, func(t *testing.T) {
		l := NewLive([]Source{{Dir: dir, Layer: User}}, nil)
		l.OnChange(func(*Set) { l.Now() })
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				v := session.New(session.Config{ID: fmt.Sprint(n), Roots: []string{"/p"}}).View()
				for i := range 20 {
					if n == 0 {
						write(t, dir, map[string]string{fmt.Sprintf("y%d/SKILL.md", i): strings.Replace(valid, "NAME", fmt.Sprintf("y%d", i), 1)})
					}
					l.Now().Lookup("x")
					if got := l.Applies(v, "/p/a.md"); (got != "") != (i == 0) {
						t.Errorf("session %d, read %d: %q", n, i, got)
					}
					time.Sleep(lookEvery)
				}
				l.Forget(v.Owner())
			})
		}
		all.Wait()
		time.Sleep(lookEvery)
		if n := len(l.Now().Skills); n != 21 {
			t.Errorf("%d skills", n)
		}
	})
}

func TestFind(t *testing.T) {
	dir := temp(t)
	write(t, dir, map[string]string{
		"pdf-forms/SKILL.md": "---\nname: pdf-forms\ndescription: Fills forms.\n---\n", "office/SKILL.md": "---\nname: office\ndescription: Reads PDF and Word files.\n---\n",
		"deploy/SKILL.md": "---\nname: deploy\ndescription: Deploys a pdf.\ndisable-model-invocation: true\n---\n",
	})
	set := Scan([]Source{{Dir: dir, Layer: User}}, nil)
	var names []string
	for _, k := range set.Find([]string{"pdf", "files"}, 5) {
		names = append(names, k.Name)
	}
	if got := strings.Join(names, " "); got != "pdf-forms office" {
		t.Error(got)
	}
	if text := set.Catalogue(1000); strings.Contains(text, "deploy") {
		t.Error(text)
	}
}

func TestAgents(t *testing.T) {
	dir := temp(t)
	write(t, dir, map[string]string{
		"a/review.md": "---\nname: review\ndescription: Use when: reviewing\ntools: Read, Grep, Bash(git log, git diff)\npermissionMode: plan\n---\nYou review.\n", "a/bad.md": "---\nname: Bad Name\n---\n",
		"a/plain.md": "x", "b/review.md": "---\nname: review\n---\n", "b/all.md": "---\ndisallowedTools: [Write, Edit]\n---\n", "b/note.txt": "",
	})
	agents, issues := Agents([]string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")})
	if len(agents) != 2 || fmt.Sprintf("%v %v %v", agents[0].Tools, agents[0].Mode, agents[0].Prompt) != "[Read Grep Bash(git log, git diff)] plan You review." || fmt.Sprint(agents[1].Name, agents[1].Disallowed, agents[1].Tools == nil) != "all[Write Edit] true" {
		t.Errorf("%+v", agents)
	}
	var got []string
	for _, i := range issues {
		got = append(got, strings.ReplaceAll(i.String(), dir, ""))
	}
	want := "/a/bad.md:2: the name \"Bad Name\" cannot be used; a name has 1 to 64 small letters, digits and single hyphens\n" +
		"/a/plain.md:1: does not begin with front matter; put name and description between two lines ---\n" +
		"/b/review.md: is not used: /a/review.md has the same name and takes precedence"
	if text := strings.Join(got, "\n"); text != want {
		t.Error(text)
	}
}

// TestCollections loads the public collections in the folder SKILLS, which e2e/skills/install.sh
// prints. Every SKILL.md becomes a skill, or an issue names it.
func TestCollections(t *testing.T) {
	dir := os.Getenv("SKILLS")
	if dir == "" {
		t.Skip("SKILLS names no folder with collections")
	}
	for _, c := range []struct {
		dir    string
		skills int // at least
		front  int // skills that the extension serves, at least
	}{{"ecc-universal-2.0.0/package/skills", 197, 192}, {"ecc-universal-2.0.0/package/.agents/skills", 33, 33}, {"ai-labs-claude-skills-2.0.1/package/dist/skills", 27, 27}} {
		source := Source{Dir: filepath.Join(dir, c.dir), Layer: User}
		set, found := Scan([]Source{source}, nil), search([]Source{source})
		if served := len(slices.DeleteFunc(slices.Clone(set.Skills), func(k *Skill) bool { return !k.Served() })); len(set.Skills) < c.skills || served < c.front {
			t.Errorf("%s: %d skills, %d served: %v", c.dir, len(set.Skills), served, set.Issues)
		}
		if lost := len(found.skills) - len(set.Skills) - len(set.Problems()); lost > 0 {
			t.Errorf("%s: %d skills are lost silently", c.dir, lost)
		}
		for _, k := range set.Skills {
			if _, err := k.Text("", ""); err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
			if _, err := k.Entry(); k.Served() && err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
		}
	}
}

// FuzzParse checks that any file is refused, or becomes front matter whose JSON is valid and whose
// strict form is the one that a strict reader has.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"---\nname: x\ndescription: d\n---\nBody", "---\nname: x\ndescription: a: b\n  c\n---\n", "---\na: [1, 0x1F, 1e400, .inf, .nan, ~, 2026-01-02, !!binary aGk=]\n---\n",
		"---\n? [a]\n: b\n---\n", "---\n1: a\ntrue: b\n---\n", "---\na: &x 1\nb: *x\n---\n", "---\n<<: {a: b}\n---\n", "---\na: |\n  b\n\tc\n---\n", "\ufeff---\r\na: 'b'\r\n---\r\n", "---\n\t- a\n---\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, bad := parse(data)
		if bad != nil {
			if bad.text == "" || bad.line < 0 {
				t.Errorf("%+v", bad)
			}
			return
		}
		var b bytes.Buffer
		toJSON(&b, d.front)
		if !json.Valid(b.Bytes()) {
			t.Errorf("%q", b.Bytes())
		}
		for _, key := range []string{"name", "description", "paths"} {
			if text, _ := d.text(key); text != "" && !plain.Printable(text) {
				t.Errorf("%q", text)
			}
			d.list(key)
		}
		_ = substitute(d.body, "a 'b c'", "/d", "/p")
	})
}
