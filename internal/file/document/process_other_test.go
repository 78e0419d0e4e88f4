//go:build !unix

package document

// parentArg is used by tests that need signals.
const parentArg = "be-parent"

func beParent() int { return 2 }
