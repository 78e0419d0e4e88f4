package bash

import (
	"testing"

	"mcp-toolset/internal/exec/shellsafe"
)

// TestEnds checks which commands end processes of others, and which do nothing else.
func TestEnds(t *testing.T) {
	for command, want := range map[string]struct {
		text string
		only bool
	}{
		"pkill node": {"pkill node", true}, "pkill node || true": {"pkill node", true}, "pkill node; npm start": {"pkill node", false},
		"killall -9 node": {"killall -9 node", true}, "kill 4711": {"kill 4711", true}, "kill $(cat pid)": {"kill $(cat pid)", false},
		"fuser -k 3000/tcp": {"fuser -k 3000/tcp", true}, "fuser -k 3000/tcp; npm start": {"fuser -k 3000/tcp", false}, "fuser 3000/tcp": {"", false},
		"kill $!": {"", false}, "kill %1": {"", false}, "kill -l": {"", false}, "ls": {"", false},
	} {
		j := &judged{Analysis: shellsafe.Analyse(command, shellsafe.Options{})}
		if text, only := j.ends(); text != want.text || only != want.only {
			t.Errorf("%s: %q, %v, want %q, %v", command, text, only, want.text, want.only)
		}
	}
}
