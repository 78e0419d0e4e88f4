package identity

import (
	"log/slog"
	"testing"

	"mcp-toolset/internal/identity/identitytest"
)

// BenchmarkVerify verifies tokens with each algorithm, and one that was verified just now.
func BenchmarkVerify(b *testing.B) {
	i := identitytest.New(b)
	v := NewVerifier([]string{i.URL}, []string{identitytest.Audience}, i.Client(), slog.New(slog.DiscardHandler))
	for _, alg := range algorithms {
		token := i.With(map[string]any{"alg": alg, "kid": alg}, nil)
		for name, again := range map[string]bool{alg: false, alg + " again": true} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					if !again {
						clear(v.verified)
					}
					if _, p := v.Verify(b.Context(), token); p != "" {
						b.Fatal(p)
					}
				}
			})
		}
	}
}
