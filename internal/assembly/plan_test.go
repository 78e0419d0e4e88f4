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
