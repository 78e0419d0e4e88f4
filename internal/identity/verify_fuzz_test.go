package identity

import (
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"

	"mcp-toolset/internal/identity/identitytest"
)

// FuzzVerify changes tokens: none is accepted that the issuer has not made. Claims that it has made
// of any bytes are accepted only with a subject, for this server, and never panic.
func FuzzVerify(f *testing.F) {
	i := identitytest.New(f)
	v := NewVerifier([]string{i.URL}, []string{identitytest.Audience}, i.Client(), slog.New(slog.DiscardHandler))
	good := i.Token(nil)
	part := strings.Split(good, ".")
	header, _ := base64.RawURLEncoding.DecodeString(part[0])
	claims, _ := base64.RawURLEncoding.DecodeString(part[1])
	f.Add(good, header, claims)
	f.Add("..", []byte(`{"alg":"none"}`), []byte(`{"exp":1e300,"aud":[]}`))
	f.Add(part[0]+"."+part[1]+".", []byte(`{"alg":"RS256","kid":"ES256"}`), append(claims[:len(claims)-1:len(claims)-1], `,"scope":null,"groups":[1]}`...))
	f.Fuzz(func(t *testing.T, token string, header, claims []byte) {
		if p, why := v.Verify(t.Context(), token); why == "" && token != good {
			t.Errorf("accepted %q: %+v", token, p)
		}
		p, why := v.Verify(t.Context(), identitytest.Sign("ES256", i.Key("ES256"), header, claims))
		if why == "" && (p.Issuer != i.URL || !strings.HasPrefix(p.ID, i.URL+":") || len(p.ID) == len(i.URL)+1 || !strings.Contains(string(claims), "aud") || p.Until.IsZero() || !printable(p.ID+p.Name)) {
			t.Errorf("accepted %s %s: %+v", header, claims, p)
		}
	})
}
