//go:build !unix

package fault

// mostDescriptors reports that the limit is unknown: there is none for a
// process.
func mostDescriptors() (n uint64, ok bool) { return 0, false }
