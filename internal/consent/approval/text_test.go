package approval

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	got := []string{
		PendingText(7, "Bash").Error(), PendingText(7, Network).Error(), UnavailableText(errors.New("no\nroom")).Error(),
	}
	want := []string{
		"approval 7 is pending. Ask the user to run `mcp-toolset approve 7` (or `mcp-toolset deny 7`) or to answer in `mcp-toolset console`, on the machine of the server, then send exactly this call again.",
		"approval 7 is pending. Ask the user to run `mcp-toolset approve 7` (or `mcp-toolset deny 7`) or to answer in `mcp-toolset console`, on the machine of the server, then run the command again.",
		`the user has to approve it and cannot be asked: no\nroom. Continue without it, or ask the user to allow it in the settings.`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
