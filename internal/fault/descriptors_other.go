//go:build !unix

package fault

// mostDescriptors is unknown: there is no limit for a process.
func mostDescriptors() (n uint64, ok bool) { return 0, false }
