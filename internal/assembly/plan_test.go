package assembly

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"mcp-toolset/internal/settings"
)

// TestSwitches checks that options override the features of the settings, and that an
// unknown feature of the settings causes a warning.
func TestSwitches(t *testing.T) {
	s, err := settings.Parse([]byte(`{"features":{"alpha":true,"beta":true,"gamma":true}}`), "/etc/test.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p := Plan{Config: Config{Settings: s, Log: slog.New(slog.NewTextHandler(&log, nil))}, Switches: map[string]bool{"beta": false}}
	got := p.switches([]string{"alpha", "beta"})
	if !got["alpha"] || got["beta"] {
		t.Errorf("%v", got)
	}
	if !strings.Contains(log.String(), "there is no feature") {
		t.Errorf("an unknown feature in the settings: %s", &log)
	}
}

// TestConfiguration checks that what Config shows has no secrets of rules, and that a key with
// values below it does not count as not set.
func TestConfiguration(t *testing.T) {
	s, err := settings.Parse([]byte(`{"features":{"alpha":true},"permissions":{"allow":["Bash(PGPASSWORD=hunter2 psql *)","Bash(curl -u bob:hunter2secret *)"]}}`), "/etc/test.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	p := Plan{Config: Config{Settings: s}, Found: &settings.Found{Merged: s}}
	var rules string
	for _, setting := range p.configuration().Settings {
		switch setting.Name {
		case "features":
			t.Error("features is listed beside features.alpha")
		case "permissions.allow":
			for _, v := range setting.Values {
				rules += v.Text
			}
		}
	}
	if rules != `"Bash(PGPASSWORD=[redacted] psql *)""Bash(curl -u bob:[redacted] *)"` {
		t.Error(rules)
	}
}
