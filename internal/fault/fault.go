// Package fault is the error of a caller's making: one fact and one next step.
package fault

// Fault is an error that is the caller's to fix.
type Fault struct {
	Fact string // what is so, without a full stop
	Next string // what to do; "" when the fact says it
}

// New makes a fault.
func New(fact, next string) *Fault { return &Fault{Fact: fact, Next: next} }

func (f *Fault) Error() string {
	if f.Next == "" {
		return f.Fact
	}
	return f.Fact + ". " + f.Next
}
