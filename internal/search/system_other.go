//go:build !linux

package search

const nonblock = 0
