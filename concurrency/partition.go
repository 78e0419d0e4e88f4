// Package concurrency decides when a call may run.
//
// The rule applies to the calls of one lane (the calls of one client) in order
// of arrival. Maximal runs of concurrency-safe calls run together. Every other
// call runs alone, after all earlier calls and before all later ones. Partition
// states this rule for a complete list. Scheduler applies it to calls that
// arrive one at a time. A property test compares the two.
package concurrency

// Partition splits calls into the batches they run in. safe reports for each
// call, in order of arrival, whether it is safe. A batch holds the indexes of a
// maximal run of safe calls, or of one unsafe call.
func Partition(safe []bool) [][]int {
	var batches [][]int
	open := false // whether the last batch is a run of safe calls
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
