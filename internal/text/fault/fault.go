// Package fault defines the errors that a caller can fix: one fact and one next
// step.
package fault

// Fault is an error that the caller can fix.
type Fault struct {
	Fact string // the problem, without a full stop
	Next string // the next step; "" if Fact is enough
}

// New returns a fault.
func New(fact, next string) *Fault { return &Fault{Fact: fact, Next: next} }

func (f *Fault) Error() string {
	if f.Next == "" {
		return f.Fact
	}
	return f.Fact + ". " + f.Next
}
