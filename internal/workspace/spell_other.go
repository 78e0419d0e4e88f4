//go:build !darwin && !windows

package workspace

// spell is nil: a file has the one name that it is found by.
var spell speller
