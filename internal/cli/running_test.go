package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/console/feed"
	"mcp-toolset/internal/settings"
)

// playedServer is a running server that describes settings, or is of a version that does not.
type playedServer struct {
	holds *feed.Settings // nil: the operation is unknown
	state *feed.Server   // what Watch sends after an update without a server
}

func (p playedServer) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	if p.holds == nil {
		return nil, &feed.Error{Status: http.StatusNotFound, Fact: "x", Next: "y"}
	}
	return json.Marshal(p.holds)
}

func (p playedServer) Watch(_ context.Context, send func(feed.Update) error) error {
	for _, u := range []feed.Update{{}, {Server: p.state}} {
		if err := send(u); err != nil {
			return err
		}
	}
	return nil
}

// TestHeldBy tests the sentences about servers that hold other settings than the files have.
func TestHeldBy(t *testing.T) {
	home := t.TempDir()
	found, err := settings.Find(settings.Options{Home: home, Dir: home, Getenv: func(string) string { return "" }, State: filepath.Join(home, "state"), Managed: filepath.Join(home, "managed.json")})
	if err != nil {
		t.Fatal(err)
	}
	const then = 1_700_000_000_000
	when := time.UnixMilli(then).Local().Format(timeForm)
	for _, c := range []struct {
		server   playedServer
		want     string
		answered bool
	}{
		{playedServer{holds: &feed.Settings{Process: -5, Name: "/a\x1b", Places: found.Places(), Digest: "another", Since: then}}, `the server with process id -5 for /a\x1b holds other rules, since WHEN; it sees other files`, true},
		{playedServer{holds: &feed.Settings{Process: -5, Name: "/a", Places: found.Places(), Digest: found.Digest(), Since: then}}, "", true},
		{playedServer{holds: &feed.Settings{Process: -5, Name: "/a", Places: []string{"/b"}, Digest: "another", Since: then}}, "", true},
		{playedServer{state: &feed.Server{Process: -5, Name: "/a", Started: then}}, "the server with process id -5 for /a is of another version and may hold the rules of its start, WHEN; start it again", true},
		{playedServer{}, "", false},
	} {
		text, ok := heldBy(t.Context(), c.server, found)
		if want := strings.ReplaceAll(c.want, "WHEN", when); text != want || ok != c.answered {
			t.Errorf("%+v: %q, %v, want %q, %v", c.server, text, ok, want, c.answered)
		}
	}
}
