//go:build !unix

package document

// parentArg is for tests that need signals.
const parentArg = "be-parent"

func beParent() int { return 2 }
