//go:build !linux

package sandbox

// NewTargets fails: the sandbox works on Linux only.
func NewTargets(string) (Targets, func(), error) { return Targets{}, func() {}, errNone() }

// TryCanaries tries nothing: the sandbox works on Linux only.
func TryCanaries(Policy, Targets) []Canary { return nil }
