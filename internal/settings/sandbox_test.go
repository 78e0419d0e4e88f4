package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSandbox(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	var none *Settings
	if diff := cmp.Diff(Sandbox{Caches: true, Network: NetworkAsk}, none.Sandbox()); diff != "" {
		t.Errorf("no settings (-want +have):\n%s", diff)
	}
	for text, want := range map[string]Sandbox{
		`{}`:             {Caches: true, Network: NetworkAsk},
		`{"sandbox":{}}`: {Caches: true, Network: NetworkAsk},
		`{"sandbox":{"caches":true,"network":"allow","allowWrite":[]}}`: {Caches: true, Network: NetworkAllow},
		`{"sandbox":{"caches":false}}`:                                  {Network: NetworkAsk},
		`{"sandbox":{"network":"deny"}}`:                                {Caches: true, Network: NetworkDeny},
		`{"sandbox":{"allowWrite":["/a/../b/","~","~/x","../lib","."]}}`: {
			AllowWrite: []string{"/b", "/home/u", "/home/u/x", "/lib", "/cfg"}, Caches: true, Network: NetworkAsk,
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
