package policy

import (
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/file/ospath"
)

// onWindows makes the package interpret paths as Windows does for the rest of a test.
// The test must not run in parallel with others.
func onWindows(t *testing.T) {
	before := paths
	paths = ospath.Windows
	t.Cleanup(func() { paths = before })
}

func windowsPolicy(t *testing.T, entries ...entry) *Policy {
	t.Helper()
	rules := fileRules("settings.json", `C:\Proj`, entries...)
	p := New(Config{
		Rules: rules, AddTo: `C:\Users\me\settings.json`, Roots: []string{`C:\Proj`, `\\srv\share\`},
		Closed: []string{`C:\Users\me\state`}, Guarded: []string{`C:\Users\me\settings.json`}, Home: `C:\Users\me`,
	})
	if w := slices.Concat(rules.Warnings(), p.Warnings()); len(w) > 0 {
		t.Fatalf("warnings: %q", w)
	}
	return p
}

func TestWindowsDecisions(t *testing.T) {
	onWindows(t)
	p := windowsPolicy(t, entry{"deny", "Read(//c/proj/Secret/**)"}, entry{"deny", "Read(*.PEM)"}, entry{"deny", "Edit(/gen/[A-F]*.go)"}, entry{"deny", "Read(~/Private)"}, entry{"deny", "Read(D:/deny/*)"}, entry{"deny", "Read(//UNC/srv/share/deny)"}, entry{"allow", "Read(//c/Other/**)"}, entry{"allow", "Edit(//d/out/**)"})
	for path, want := range map[string]Behavior{
		`C:\Proj`:                         Allow,
		`C:\Proj\a.txt`:                   Allow,
		`C:\Proj\sub\a.txt`:               Allow,
		`C:\PROJ\a.txt`:                   Ask, // a root is compared by its stored name
		`C:\Proj2\a.txt`:                  Ask,
		`D:\Proj\a.txt`:                   Ask,
		`C:\Proj\secret\a.txt`:            Deny,
		`C:\Proj\SECRET\a.txt`:            Deny,
		`C:\PROJ\SeCrEt`:                  Deny,
		`C:\Proj\ſecret\a.txt`:            Deny,
		`C:\Proj\key.pem`:                 Deny,
		`C:\Proj\gen\a1.go`:               Allow, // an Edit deny rule does not prevent reading
		`C:\Users\ME\private\x`:           Deny,
		`C:\Users\me\STATE\token`:         Deny,
		`C:\Users\me\a.txt`:               Ask,
		`D:\Deny\x`:                       Deny,
		`\\srv\share\a`:                   Allow,
		`\\SRV\Share\Deny\a`:              Deny,
		`\\srv\share2\a`:                  Ask,
		`C:\other\x`:                      Allow,
		`D:\out\x`:                        Allow,
		`\\?\Volume{0-0}\Proj\secret\a`:   Ask,
		`\\?\GLOBALROOT\Device\x\c\other`: Ask,
	} {
		d := p.Decide(Request{Tool: "Read", ReadOnly: true, Dir: `C:\Proj`, Target: &Target{Literal: path, Canonical: path}})
		if d.Behavior != want {
			t.Errorf("reading %s: %v (%s), want %v", path, d.Behavior, d.Reason, want)
		}
	}
	for path, want := range map[string]string{
		`C:\Proj\gen\a1.go`:                `deny`,
		`C:\Proj\.GIT\config`:              `ask`,
		`C:\Users\me\SETTINGS.json`:        `deny`,
		`C:\Proj\.MCP-toolset\Settings.js`: `ask`,
		`D:\OUT\x`:                         `allow`,
	} {
		d := p.Decide(Request{Tool: "Write", Dir: `C:\Proj`, Target: &Target{Literal: path, Canonical: path, Access: Edit}})
		if got := d.Behavior.String(); got != want && !(got == "allow" && want == "allow") {
			t.Errorf("writing %s: %s (%s), want %s", path, got, d.Reason, want)
		}
	}
}

// TestWindowsSuggestions checks that the rule that a decision suggests allows the
// path.
func TestWindowsSuggestions(t *testing.T) {
	onWindows(t)
	for path, want := range map[string]string{
		`C:\Other\a.txt`:            `Read(//c/Other/a.txt)`,
		`D:\x y\[1]{a}\b`:           `Read(//d/x y/\[1]{a}/b)`,
		`\\Srv\Share\a`:             `Read(//UNC/Srv/Share/a)`,
		`C:\Users\you\Documents\ä`:  `Read(//c/Users/you/Documents/ä)`,
		`C:\Windows`:                ``,
		`C:\Users\you`:              ``,
		`C:\`:                       ``,
		`\\srv\share\`:              ``,
		`C:\Users\me`:               ``,
		`C:\Program Files\a\b.conf`: `Read(//c/Program Files/a/b.conf)`,
	} {
		p := New(Config{Roots: []string{`C:\Proj`}, Home: `C:\Users\me`, AddTo: `C:\Users\me\settings.json`})
		request := Request{Tool: "Read", ReadOnly: true, Dir: `C:\Proj`, Target: &Target{Literal: path, Canonical: path}}
		d := p.Decide(request)
		if want == "" {
			if strings.Contains(d.Next, "Read(") {
				t.Errorf("%s: suggested %s", path, d.Next)
			}
			continue
		}
		if !strings.Contains(d.Next, want) {
			t.Errorf("%s: %s does not suggest %s", path, d.Next, want)
			continue
		}
		rules := fileRules("s.json", `C:\`, entry{"allow", want})
		if d := New(Config{Roots: []string{`C:\Proj`}, Rules: rules}).Decide(request); d.Behavior != Allow {
			t.Errorf("%s: the suggested rule %s leads to %v (%s)", path, want, d.Behavior, d.Reason)
		}
	}
}

func TestWindowsPatterns(t *testing.T) {
	onWindows(t)
	base := Base{Dir: `C:\Proj\sub`, Root: `C:\Proj`, Home: `C:\Users\me`}
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{`//c/proj/**`, `C:\Proj\a`, true},
		{`//C:/proj/**`, `C:\Proj\a`, true},
		{`c:/proj/**`, `C:\Proj\a`, true},
		{`//c/**`, `D:\a`, false},
		{`//**/x`, `D:\a\x`, true},
		{`//*/proj`, `D:\proj\x`, true},
		{`/a`, `C:\proj\A`, true},
		{`~/a`, `C:\USERS\me\a`, true},
		{`a`, `C:\Proj\sub\b\a`, true},
		{`./A`, `C:\Proj\sub\a`, true},
		{`[!A-Z]`, `C:\Proj\sub\a`, false},
		{`[A-ZÄ-Ö_-]`, `C:\Proj\sub\é`, true},
		{`[0-9A-F-Z]`, `C:\Proj\sub\a`, true},
		{`Ä*`, `C:\Proj\sub\äb`, true},
		{`//UNC/srv/s`, `\\SRV\S\x`, true},
		{`//srv/s`, `\\srv\s\x`, false},
	} {
		match, err := PathPattern(c.pattern, base)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := match(c.path); got != c.want {
			t.Errorf("%s covers %s: %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
	for pattern, want := range map[string]string{
		`C:\proj\**`: `written with slashes, as in //c/folder/**`,
		`[A-z]x`:     `case is ignored here`,
		`[Z-a]x`:     `case is ignored here`,
		`[xA-_]x`:    `case is ignored here`,
		`[0-Z]x`:     `case is ignored here`,
	} {
		if _, err := PathPattern(pattern, base); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", pattern, err, want)
		}
	}
}

// TestWindowsKept checks which files rules hide from commands, for paths of Windows.
func TestWindowsKept(t *testing.T) {
	onWindows(t)
	p := windowsPolicy(t, entry{"deny", "Read(//c/Proj/Secret)"}, entry{"deny", "Read(~/Priv/*.key)"}, entry{"deny", "Read(//**/x)"})
	k := p.HidingRules(`C:\Proj`, false)
	if got := k.Named(Read); len(got) != 1 || got[0] != `C:\Proj\Secret` {
		t.Errorf("named: %q", got)
	}
	if got := k.Below(Read); len(got) != 1 || got[0] != `C:\Users\me\Priv` {
		t.Errorf("below: %q", got)
	}
	if !k.Covers(Read, `C:\proj\SECRET\a`) || k.InRoots(Read) != "Read(//c/Proj/Secret)" {
		t.Errorf("a rule on a root is not seen: %s", k.InRoots(Read))
	}
}

// TestMovedNames translates paths where names that differ in case have different lengths.
func TestMovedNames(t *testing.T) {
	onWindows(t)
	p := New(Config{Roots: []string{`C:\Kelvin`}}).Moved([]string{`D:\trees\w`}, `D:\trees\w`, "C:\\\u212aelvin")
	if path := p.inWorktree(`c:\kelvin`); path != `D:\trees\w` {
		t.Error(path)
	}
	if path := p.inWorktree(`c:\KELVIN\A\b.txt`); path != `D:\trees\w\A\b.txt` {
		t.Error(path)
	}
	if path := p.original(`d:\Trees\W\A`); path != "C:\\\u212aelvin\\A" {
		t.Error(path)
	}
}
