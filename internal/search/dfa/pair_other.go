//go:build !amd64

package dfa

const wide = false

// skip returns 0: it needs wide registers.
func (p *pair) skip(a, b []byte) int { return 0 }
