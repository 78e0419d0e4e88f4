//go:build !linux && !darwin

package document

// limitSystem does nothing: the process keeps its deadline and its memory by
// itself, and the server kills it when it does not.
func limitSystem(request) {}

func heldMemory() func() uint64 { return goMemory }
