//go:build !linux && !darwin

package sandbox

// NewTargets fails: the sandbox works on Linux and macOS only.
func NewTargets(string) (Targets, func(), error) { return Targets{}, func() {}, errNone() }

// TryCanaries tries nothing: the sandbox works on Linux and macOS only.
func TryCanaries(Policy, Targets) []Canary { return nil }
