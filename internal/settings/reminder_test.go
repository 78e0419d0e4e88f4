package settings

import "testing"

func TestReminder(t *testing.T) {
	for _, tc := range []struct {
		value, model string
		want         bool
	}{
		{`true`, "m", true},
		{`false`, "m", false},
		{`"on"`, "", true},
		{`"off"`, "", false},
		{`{}`, "m", true},
		{`{"exempt":[]}`, "m", true},
		{`{"exempt":["m"]}`, "m", false},
		{`{"exempt":["M"]}`, "m", false},
		{`{"exempt":["m"]}`, "mm", true},
		{`{"exempt":["m"]}`, "", true},
		{`{"exempt":["*"]}`, "", true},
		{`{"exempt":["*"]}`, "m", false},
		{`{"exempt":["a","claude-*-5"]}`, "claude-sonnet-5", false},
		{`{"exempt":["claude-*-5"]}`, "claude-sonnet-4", true},
		{`{"exempt":["*/claude-*-5*"]}`, "eu/claude-opus-5-1", false},
	} {
		s, err := Parse([]byte(`{"reminder":`+tc.value+`}`), "s", "/")
		if err != nil || len(s.Warnings()) != 0 {
			t.Errorf("%s: %v, %v", tc.value, err, s.Warnings())
			continue
		}
		if got := s.Reminder(tc.model); got != tc.want {
			t.Errorf("%s for %q: %v", tc.value, tc.model, got)
		}
	}
	var none *Settings
	if !none.Reminder("m") {
		t.Error("no settings: no reminder")
	}
}

func TestEditGuard(t *testing.T) {
	var none *Settings
	if got := none.EditGuard(); got != "default" {
		t.Errorf("no settings: %s", got)
	}
	for text, want := range map[string]string{`{}`: "default", `{"editGuard":"strict"}`: "strict", `{"editGuard":"off"}`: "off", `{"editGuard":"default"}`: "default"} {
		s, err := Parse([]byte(text), "s", "/")
		if err != nil || len(s.Warnings()) != 0 || s.EditGuard() != want {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
}
