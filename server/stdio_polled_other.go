//go:build !linux

package server

import "io"

// waitable returns in unchanged: reading it blocks.
func waitable(in io.Reader) (r io.Reader, end func()) { return in, func() {} }
