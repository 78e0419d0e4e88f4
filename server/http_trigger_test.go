package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/event/trigger"
	"mcp-toolset/internal/identity"
	"mcp-toolset/session"
)

// TestTriggers checks that a signature takes the place of the token for the paths of triggers
// and for no other, and that names cannot be probed.
func TestTriggers(t *testing.T) {
	for name, h := range map[string]HTTP{"token": {Users: identity.NewOne(goodToken)}, "no token": {NoAuth: true}} {
		t.Run(name, func(t *testing.T) {
			events := event.New()
			triggers, owner := trigger.New(t.TempDir(), nil, events), session.View{ID: "1", Principal: identity.Default}
			s, _ := newServer(t, time.Second)
			h.Triggers = triggers
			w := serveHTTP(t, s, h)
			base := strings.TrimSuffix(w.url, "/mcp")
			triggers.ServedAt(base)
			made, err := triggers.Create(t.Context(), owner, "ci", false)
			if err != nil || made.Address != base+"/events/ci" {
				t.Fatal(made, err)
			}
			mac := hmac.New(sha256.New, []byte(made.Secret))
			mac.Write([]byte("{}"))
			signed := fmt.Sprintf("X-Hub-Signature-256: sha256=%x", mac.Sum(nil))
			wrong := "X-Hub-Signature-256: sha256=" + strings.Repeat("0", 64)
			const none = "-Authorization"
			withToken := func(with, without string) string {
				if h.NoAuth {
					return without
				}
				return with
			}
			refused := "401 missing or wrong signature; send X-Hub-Signature-256: sha256=HEX, the HMAC-SHA-256 of the body with the secret of the trigger" + withToken(", or the bearer token", "")
			for _, c := range []struct {
				method, path, body string
				headers            []string
				want               string
			}{
				{"POST", "/events/ci", "{}", []string{none, signed}, "202 accepted"},
				{"POST", "/events/ci", "{}", []string{none, signed, "Content-Type: application/x-www-form-urlencoded"}, "202 accepted"},
				{"POST", "/events/ci", "{}", []string{signed, "Authorization: Bearer no"}, "202 accepted"},
				{"POST", "/events/ci", "{}", nil, withToken("202 accepted", refused)},
				{"POST", "/events/none", "{}", nil, withToken("404 there is no trigger none", refused)},
				{"POST", "/events/ci", "{}", []string{none}, refused},
				{"POST", "/events/ci", "{}", []string{none, "Authorization: Bearer "}, refused},
				{"POST", "/events/none", "{}", []string{none}, refused},
				{"POST", "/events/ci", "{}", []string{none, wrong}, refused},
				{"POST", "/events/none", "{}", []string{none, wrong}, refused},
				{"POST", "/events/none", "{}", []string{none, signed}, refused},
				{"POST", "/events/ci", strings.Repeat("x", trigger.MaxBody+1), []string{none, wrong}, "413 the body has more than 65536 bytes"},
				{"POST", "/events/ci", "{}", []string{none, signed, "Host: evil.example"}, "403 this host name is not served here; allow it with --allow-host"},
				{"POST", "/events/ci", "{}", []string{none, signed, "Origin: https://evil.example"}, "403 this origin may not call; allow it with --allow-origin"},
				{"GET", "/events/ci", "", []string{none, signed}, "405 method not allowed; send POST"},
				{"DELETE", "/events/ci", "", []string{none}, "405 method not allowed; send POST"},
				{"GET", "/metrics", "", []string{none, signed}, withToken("401 missing or wrong bearer token; send Authorization: Bearer TOKEN", "404 not found; the MCP endpoint is /mcp")},
				{"GET", "/events", "", []string{none, signed}, withToken("401 missing or wrong bearer token; send Authorization: Bearer TOKEN", "404 not found; the MCP endpoint is /mcp")},
			} {
				status, _, text := w.do(c.method, base+c.path, c.body, c.headers...)
				if got := fmt.Sprint(status, " ", strings.TrimSpace(text)); got != c.want {
					t.Errorf("%s %s %.3q: %s, want %s", c.method, c.path, c.headers, got, c.want)
				}
			}
			want := 4
			if h.NoAuth {
				want = 3
			}
			if list, _ := events.Take(owner.Owner()); len(list) != want || list[0].Text != "{}" {
				t.Errorf("the events are %v", list)
			}
			// Failed attempts of an address are limited, and valid requests are not.
			for range failBurst {
				w.do("POST", base+"/events/ci", "{}", none, wrong)
			}
			if status, _, _ := w.do("POST", base+"/events/ci", "{}", none, wrong); status != http.StatusTooManyRequests {
				t.Errorf("after many attempts the status is %d", status)
			}
			if status, _, _ := w.do("POST", base+"/events/ci", "{}", none, signed); status != http.StatusAccepted {
				t.Errorf("after many attempts of others the status is %d", status)
			}
		})
	}
}
