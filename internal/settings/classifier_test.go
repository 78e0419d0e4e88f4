package settings

import (
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/consent/classifier"

	"github.com/google/go-cmp/cmp"
)

func TestClassifier(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	var none *Settings
	if none.Classifier() != nil {
		t.Error("no settings, and a classifier")
	}
	five := 5 * time.Second
	for text, want := range map[string][]classifier.Stage{
		`{}`: nil,
		`{"classifier":{"command":["judge","-v","./x"]}}`:            {{Command: []string{"judge", "-v", "./x"}, Dir: "/cfg", Timeout: five}},
		`{"classifier":{"command":["./judge"]}}`:                     {{Command: []string{"/cfg/judge"}, Dir: "/cfg", Timeout: five}},
		`{"classifier":{"command":["~/bin/judge"]}}`:                 {{Command: []string{"/home/u/bin/judge"}, Dir: "/cfg", Timeout: five}},
		`{"classifier":{"command":["/bin/../judge"],"timeout":0.5}}`: {{Command: []string{"/judge"}, Dir: "/cfg", Timeout: time.Second / 2}},
		`{"classifier":{"command":"judge | tee x","timeout":60}}`:    {{Command: []string{"sh", "-c", "judge | tee x"}, Dir: "/cfg", Timeout: time.Minute}},
		`{"classifier":{"url":"http://127.0.0.1:80/a?b"}}`:           {{URL: "http://127.0.0.1:80/a?b", Dir: "/cfg", Timeout: five}},
		`{"classifier":{"url":"HTTPS://LocalHost"}}`:                 {{URL: "HTTPS://LocalHost", Dir: "/cfg", Timeout: five}},
		`{"classifier":{"url":"http://[::1]:8/"}}`:                   {{URL: "http://[::1]:8/", Dir: "/cfg", Timeout: five}},
		`{"classifier":{"url":"http://[::ffff:127.9.9.9]/"}}`:        {{URL: "http://[::ffff:127.9.9.9]/", Dir: "/cfg", Timeout: five}},
		`{"classifier":{"second":{"command":"slow","timeout":30},"url":"http://127.1.2.3"}}`: {
			{URL: "http://127.1.2.3", Dir: "/cfg", Timeout: five}, {Command: []string{"sh", "-c", "slow"}, Dir: "/cfg", Timeout: 30 * time.Second},
		},
	} {
		s, err := Parse([]byte(text), "/cfg/s.json", "/cfg")
		if err != nil || len(s.Warnings()) != 0 {
			t.Errorf("%s: %v, %v", text, err, s.Warnings())
			continue
		}
		if diff := cmp.Diff(want, s.Classifier()); diff != "" {
			t.Errorf("%s (-want +have):\n%s", text, diff)
		}
		if got := s.Classifier(); len(got) > 0 && len(got[0].Command) > 0 {
			got[0].Command[0] = "changed"
			if s.Classifier()[0].Command[0] == "changed" {
				t.Errorf("%s: the command can be changed from outside", text)
			}
		}
	}
}

func TestClassifierErrors(t *testing.T) {
	const (
		useURL  = "want a URL such as http://127.0.0.1:8000/judge, have "
		here    = " is not this machine; use 127.0.0.1, [::1] or localhost, since what is asked holds what calls do"
		command = "want a program and its arguments, or a text for sh, have "
		seconds = "want a number of seconds, more than 0 and at most 60, have "
	)
	for text, want := range map[string]string{
		`true`: `classifier: want an object, have a boolean`,
		`{}`:   `classifier: it has none of command, model and url; add one of them`,
		`{"command":"a","url":"http://localhost"}`: `classifier: it has both command and url; take one out`,
		`{"command":"a","second":{}}`:              `classifier.second: it has none of command, model and url; add one of them`,
		`{"command":"a","second":[]}`:              `classifier.second: want an object, have an array`,
		`{"command":"a","second":{"url":"x"}}`:     `classifier.second.url: ` + useURL + `x`,
		`{"command":1}`:                            `classifier.command: ` + command + `a number`,
		`{"command":" "}`:                          `classifier.command: ` + command + `the string  `,
		`{"command":"a\u0000"}`:                    `classifier.command: ` + command + `the string "a\x00"`,
		`{"command":[]}`:                           `classifier.command: ` + command + `an array without a program`,
		`{"command":["","a"]}`:                     `classifier.command: ` + command + `an array without a program`,
		`{"command":["a",1]}`:                      `classifier.command[1]: want a string, have a number`,
		`{"url":1}`:                                `classifier.url: want a string, have a number`,
		`{"url":""}`:                               `classifier.url: ` + useURL + `""`,
		`{"url":"127.0.0.1:80"}`:                   `classifier.url: ` + useURL + `127.0.0.1:80`,
		`{"url":"ftp://127.0.0.1"}`:                `classifier.url: ` + useURL + `ftp://127.0.0.1`,
		`{"url":"http:127.0.0.1"}`:                 `classifier.url: ` + useURL + `http:127.0.0.1`,
		`{"url":"http:///x"}`:                      `classifier.url: ` + useURL + `http:///x`,
		`{"url":"http://127.0.0.1:99999"}`:         `classifier.url: http://127.0.0.1:99999 has a port that does not exist`,
		`{"url":"http://127.0.0.1:0"}`:             `classifier.url: http://127.0.0.1:0 has a port that does not exist`,
		`{"url":"http://example.com/"}`:            `classifier.url: example.com` + here,
		`{"url":"http://localhost.example.com/"}`:  `classifier.url: localhost.example.com` + here,
		`{"url":"http://127.0.0.1@10.0.0.1/"}`:     `classifier.url: 10.0.0.1` + here,
		`{"url":"http://0.0.0.0:80/"}`:             `classifier.url: 0.0.0.0` + here,
		`{"url":"http://2130706433/"}`:             `classifier.url: 2130706433` + here,
		`{"url":"http://[::ffff:10.0.0.1]/"}`:      `classifier.url: ::ffff:10.0.0.1` + here,
		`{"url":"http://:80/"}`:                    `classifier.url: ""` + here,
		`{"command":"a","timeout":"5"}`:            `classifier.timeout: ` + seconds + `the string 5`,
		`{"command":"a","timeout":0}`:              `classifier.timeout: ` + seconds + `a number 0`,
		`{"command":"a","timeout":-1}`:             `classifier.timeout: ` + seconds + `a number -1`,
		`{"command":"a","timeout":60.1}`:           `classifier.timeout: ` + seconds + `a number 60.1`,
		`{"command":"a","timeout":1e-30}`:          `classifier.timeout: ` + seconds + `a number 1e-30`,
		`{"command":"a","timeout":1e999}`:          `classifier.timeout: ` + seconds + `a number 1e999`,
		`{"command":"a","command":"b"}`:            `classifier.command: the key is given twice`,
	} {
		_, err := Parse([]byte(`{"classifier":`+text+`}`), "/cfg/s.json", "/cfg")
		if want = "parsing settings /cfg/s.json: line 1: " + want; err == nil || err.Error() != want {
			t.Errorf("%s\nwant %s\nhave %v", text, want, err)
		}
	}
	_, err := Parse([]byte(`{"classifier":{"command":["bin/judge"]}}`), "s", "")
	if err == nil || !strings.HasSuffix(err.Error(), "classifier.command: bin/judge begins at a folder that is not known; write an absolute path") {
		t.Error(err)
	}
}

func TestClassifierWarnings(t *testing.T) {
	s, err := Parse([]byte(`{"Classifier":{},"classifier":{"command":"a","Timeout":1,"stage":2,"second":{"url":"http://localhost","second":{}}}}`), "s", "/")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`s:1: classifier.Timeout: unknown key, ignored; did you mean classifier.timeout?`,
		`s:1: classifier.stage: unknown key, ignored`,
		`s:1: classifier.second.second: unknown key, ignored`,
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Errorf("warnings (-want +have):\n%s", diff)
	}
}
