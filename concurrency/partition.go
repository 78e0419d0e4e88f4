// Package concurrency decides when a call may run.
//
// The rule, for the calls of one lane (one client conversation) in the order
// they arrived: maximal runs of concurrency-safe calls run together; every
// other call runs alone, after all earlier calls and before all later ones.
// Partition states it; Scheduler behaves by it for calls that arrive one at a
// time, and a property test ties the two together.
package concurrency

// Partition splits calls, given as safe or not in arrival order, into the
// batches they run in: indexes of maximal runs of safe calls, and every unsafe
// call by itself.
func Partition(safe []bool) [][]int {
	var batches [][]int
	open := false // the last batch is a run of safe calls
	for i, s := range safe {
		if s && open {
			last := len(batches) - 1
			batches[last] = append(batches[last], i)
			continue
		}
		batches = append(batches, []int{i})
		open = s
	}
	return batches
}
