//go:build !linux && !darwin

package workspace

func (*Identity) fill(any) {}
