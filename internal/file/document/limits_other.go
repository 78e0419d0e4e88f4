//go:build !linux && !darwin

package document

// limitSystem does nothing. The process enforces its deadline and memory limit itself,
// and the server kills it if it does not end by its deadline.
func limitSystem(request) {}

func heldMemory() func() uint64 { return goMemory }
