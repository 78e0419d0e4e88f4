//go:build !slow && linux

package process

const (
	fullCounts  = false
	manyTrees   = 2
	manyCalls   = 15
	serverTrees = 2
)
