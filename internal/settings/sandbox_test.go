package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSandbox(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	var none *Settings
	ask := Publish{Ask: true}
	if diff := cmp.Diff(Sandbox{Caches: true, Network: NetworkAsk, Publish: ask}, none.Sandbox()); diff != "" {
		t.Errorf("no settings (-want +have):\n%s", diff)
	}
	for text, want := range map[string]Sandbox{
		`{}`:             {Caches: true, Network: NetworkAsk, Publish: ask},
		`{"sandbox":{}}`: {Caches: true, Network: NetworkAsk, Publish: ask},
		`{"sandbox":{"caches":true,"network":"allow","allowWrite":[]}}`: {Caches: true, Network: NetworkAllow, Publish: ask},
		`{"sandbox":{"caches":false}}`:                                  {Network: NetworkAsk, Publish: ask},
		`{"sandbox":{"network":"deny"}}`:                                {Caches: true, Network: NetworkDeny, Publish: ask},
		`{"sandbox":{"allowWrite":["/a/../b/","~","~/x","../lib","."]}}`: {
			AllowWrite: []string{"/b", "/home/u", "/home/u/x", "/lib", "/cfg"}, Caches: true, Network: NetworkAsk, Publish: ask,
		},
		`{"sandbox":{"publish":"ask"}}`: {Caches: true, Network: NetworkAsk, Publish: ask},
		`{"sandbox":{"publish":[]}}`:    {Caches: true, Network: NetworkAsk},
		`{"sandbox":{"publish":5173}}`:  {Caches: true, Network: NetworkAsk, Publish: Publish{Ports: []PortRange{{5173, 5173}}}},
		`{"sandbox":{"publish":["3000",5173,"8000-8100","ask"]}}`: {
			Caches: true, Network: NetworkAsk, Publish: Publish{Ask: true, Ports: []PortRange{{3000, 3000}, {5173, 5173}, {8000, 8100}}},
		},
	} {
		s, err := Parse([]byte(text), "/cfg/s.json", "/cfg")
		if err != nil || len(s.Warnings()) != 0 {
			t.Errorf("%s: %v, %v", text, err, s.Warnings())
			continue
		}
		if diff := cmp.Diff(want, s.Sandbox()); diff != "" {
			t.Errorf("%s (-want +have):\n%s", text, diff)
		}
		if len(s.AdditionalDirectories()) != 0 {
			t.Errorf("%s: further roots %q", text, s.AdditionalDirectories())
		}
	}
}

// TestFoldersWithoutBeginning checks that a folder relative to an unknown one is left
// out, not taken from the file-system root.
func TestFoldersWithoutBeginning(t *testing.T) {
	t.Setenv("HOME", "")
	s, err := Parse([]byte(`{"permissions":{"additionalDirectories":["lib","~/x","/a"]},"sandbox":{"allowWrite":["lib","~","/b"]}}`), "s", "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/a"}, s.AdditionalDirectories()); diff != "" {
		t.Errorf("additional directories (-want +have):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/b"}, s.Sandbox().AllowWrite); diff != "" {
		t.Errorf("folders to write in (-want +have):\n%s", diff)
	}
	t.Setenv("HOME", "relative")
	if got := s.Sandbox().AllowWrite; len(got) != 1 {
		t.Errorf("with a home that is not absolute: %q", got)
	}
}

// TestPublishNames checks the ends of ranges, and that the more authoritative file decides.
func TestPublishNames(t *testing.T) {
	parse := func(text string) *Settings {
		t.Helper()
		s, err := Parse([]byte(text), "s", "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ranges := parse(`{"sandbox":{"publish":["80-82",90]}}`)
	for port, want := range map[uint16]bool{79: false, 80: true, 82: true, 83: false, 90: true, 91: false} {
		if got := ranges.Sandbox().Publish.Names(port); got != want {
			t.Errorf("%d: %v", port, got)
		}
	}
	for _, first := range []string{`{"sandbox":{"publish":[]}}`, `{"sandbox":{"publish":[1]}}`} {
		merged := Merge([]*Settings{parse(`{}`), parse(first), ranges}).Sandbox().Publish
		if merged.Names(90) || merged.Ask {
			t.Errorf("%s: %+v", first, merged)
		}
	}
}

func TestEnv(t *testing.T) {
	var none *Settings
	if scrub, pass := none.Env(); scrub != nil || pass != nil {
		t.Errorf("no settings: %q, %q", scrub, pass)
	}
	s, err := Parse([]byte(`{"env":{"pass":["GOPROXY","npm_config_*"],"scrub":["*_TOKEN","AWS_*","X*Y*"]}}`), "s", "/")
	if err != nil || len(s.Warnings()) != 0 {
		t.Fatalf("%v, %v", err, s.Warnings())
	}
	scrub, pass := s.Env()
	if diff := cmp.Diff([][]string{{"*_TOKEN", "AWS_*", "X*Y*"}, {"GOPROXY", "npm_config_*"}}, [][]string{scrub, pass}); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	scrub[0] = "changed"
	if again, _ := s.Env(); again[0] != "*_TOKEN" {
		t.Error("the list can be changed from outside")
	}
}

func TestCommandSettingsErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"sandbox":true}`:                       `line 1: sandbox: want an object, have a boolean`,
		"{\"sandbox\":{\n\"caches\":\"on\"}}":    `line 2: sandbox.caches: want true or false, have the string on`,
		`{"sandbox":{"network":true}}`:           `line 1: sandbox.network: want "ask", "allow" or "deny", have a boolean`,
		`{"sandbox":{"network":"Deny"}}`:         `line 1: sandbox.network: want "ask", "allow" or "deny", have the string Deny`,
		`{"sandbox":{"network":"no"}}`:           `line 1: sandbox.network: want "ask", "allow" or "deny", have the string no`,
		`{"sandbox":{"allowWrite":"/a"}}`:        `line 1: sandbox.allowWrite: want an array of strings, have the string /a`,
		`{"sandbox":{"allowWrite":["/a",1]}}`:    `line 1: sandbox.allowWrite[1]: want a string, have a number`,
		`{"sandbox":{"caches":true,"caches":1}}`: `line 1: sandbox.caches: the key is given twice`,
		`{"sandbox":{"publish":true}}`:           `line 1: sandbox.publish: want "ask", a port such as 5173, or a range such as "8000-8100", have a boolean`,
		`{"sandbox":{"publish":null}}`:           `line 1: sandbox.publish: want "ask", a port such as 5173, or a range such as "8000-8100", have null`,
		`{"sandbox":{"publish":[0]}}`:            `line 1: sandbox.publish[0]: want "ask", a port such as 5173, or a range such as "8000-8100", have a number`,
		`{"sandbox":{"publish":["ask",65536]}}`:  `line 1: sandbox.publish[1]: want "ask", a port such as 5173, or a range such as "8000-8100", have a number`,
		`{"sandbox":{"publish":["90-80"]}}`:      `line 1: sandbox.publish[0]: want "ask", a port such as 5173, or a range such as "8000-8100", have the string 90-80`,
		`{"sandbox":{"publish":"3000,5173"}}`:    `line 1: sandbox.publish: want "ask", a port such as 5173, or a range such as "8000-8100", have the string 3000,5173`,
		`{"env":[]}`:                             `line 1: env: want an object, have an array`,
		"{\"env\":{\"scrub\":[\n\"A\",\nnull]}}": `line 3: env.scrub[1]: want a string, have null`,
		`{"env":{"pass":{}}}`:                    `line 1: env.pass: want an array of strings, have an object`,
	} {
		_, err := Parse([]byte(text), "/cfg/s.json", "/cfg")
		if want = "parsing settings /cfg/s.json: " + want; err == nil || err.Error() != want {
			t.Errorf("%s\nwant %s\nhave %v", text, want, err)
		}
	}
}

func TestCommandSettingsWarnings(t *testing.T) {
	s, err := Parse([]byte(`{
		"Sandbox": {}, "ENV": {},
		"sandbox": {"Network": "deny", "write": [], "allowWrite": ["", "~bob", "/ok"]},
		"env": {"Scrub": ["A"], "keep": 1, "scrub": ["", "A=B", "A B", "B\u0000", "OK"], "pass": ["C\u200b"]}
	}`), "/cfg/s.json", "/cfg")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`/cfg/s.json:3: sandbox.allowWrite: "" is not a folder that can be found, ignored`,
		`/cfg/s.json:3: sandbox.allowWrite: ~bob is not a folder that can be found, ignored`,
		`/cfg/s.json:4: env.Scrub: unknown key, ignored; did you mean env.scrub?`,
		`/cfg/s.json:4: env.keep: unknown key, ignored`,
		`/cfg/s.json:4: env.scrub: "" is not the name of a variable, ignored`,
		`/cfg/s.json:4: env.scrub: A=B is not the name of a variable, ignored`,
		`/cfg/s.json:4: env.scrub: A B is not the name of a variable, ignored`,
		`/cfg/s.json:4: env.scrub: "B\x00" is not the name of a variable, ignored`,
		`/cfg/s.json:4: env.pass: "C\u200b" is not the name of a variable, ignored`,
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Errorf("warnings (-want +have):\n%s", diff)
	}
	scrub, pass := s.Env()
	if !cmp.Equal(scrub, []string{"OK"}) || len(pass) != 0 || s.Sandbox().Network != NetworkAsk || !cmp.Equal(s.Sandbox().AllowWrite, []string{"/ok"}) {
		t.Errorf("scrub %q, pass %q, %+v", scrub, pass, s.Sandbox())
	}
}
