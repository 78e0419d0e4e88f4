package command

import (
	"os"
	"testing"
)

// BenchmarkPolicy measures how long the server needs for the policy of a command.
func BenchmarkPolicy(b *testing.B) {
	home, err := os.UserHomeDir()
	if err != nil {
		b.Skip(err)
	}
	c, err := New(Config{Roots: []string{b.TempDir()}, Home: home, State: b.TempDir(), Environ: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		p := c.policy(nil, false, "/tmp")
		c.grantCaches(&p, false)
	}
}
