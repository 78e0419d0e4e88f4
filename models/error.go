package models

import (
	"time"

	"mcp-toolset/internal/text/fault"
)

// Kind is what a caller can do about an Error.
type Kind int

// The kinds of errors.
const (
	Failed  Kind = iota // nothing by itself
	Busy                // the provider takes no requests now; Complete has tried again
	TooLong             // make the conversation shorter
	Spent               // a budget is used up
	Slow                // the time limit ended the attempt
)

// Error is an error of a completion. It never contains a key or a text of the provider.
type Error struct {
	Kind  Kind
	Fault *fault.Fault
	Wait  time.Duration // of Busy: before another attempt
}

// NewError returns an error with one fact and one next step.
func NewError(k Kind, fact, next string) *Error { return &Error{Kind: k, Fault: fault.New(fact, next)} }

func (e *Error) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Fault }
