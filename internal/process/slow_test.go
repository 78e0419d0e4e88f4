//go:build slow && linux

package process

const (
	fullCounts  = true
	manyTrees   = 50
	manyCalls   = 300
	serverTrees = 10
)
