//go:build !linux

package gitfront

func apart(_, _ string) bool { return false }
