// Package concurrency decides when a call may run.
//
// The rule applies to the calls of one lane (the calls of one client) in order
// of arrival. Maximal runs of concurrency-safe calls run together. Every other
// call runs alone, after all earlier calls and before all later ones. Partition
// states this rule for a complete list. Scheduler applies it to calls that
// arrive one at a time. A property test compares the two.
//
// # Scheduler
//
// The Scheduler has no goroutine and no clock. A ticket is a place in a lane, taken when
// the message is read. The turn goes from call to call in order of arrival: a safe call
// passes it on as soon as it is decided, an unsafe one when it is done. An unsafe call
// runs only when nothing of its lane is active.
//
// Unsafe calls of lanes whose roots overlap exclude one another, in the order in which
// they came to the head of their lane. Each waits for the latest earlier one that
// overlaps, so other events cost it nothing. Safe calls wait for slots only, which go
// round the lanes. A cancelled ticket takes no slot and no turn. Session effects are
// applied in order of arrival.
//
// The file model_test.go has the rules as a slow simulation. TestModel plays random
// programs in both and compares the start and end of each call, the shared executions, and
// the order of effects.
//
// # Shared executions
//
// A safe call that begins while a call with the same tool, input, folder and roots runs
// gets its result (Group), unless an unsafe call began or ended in between. One
// generation counts for all lanes: it costs a little sharing and nothing else. A call
// that waits for a result holds no slot. If the call that began the work is cancelled,
// its slot passes to the next one that wants the result, and the work stops with the last
// of them.
//
// # What is visible
//
// Config.Observe is called with each stage of a call, by the call's own goroutine.
// Snapshot returns the rest. Waiting is counted in seconds by its reason. Metrics rank
// queues and do not name clients, so their number is bounded.
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
