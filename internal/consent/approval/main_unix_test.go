//go:build unix

package approval

// These processes are started only by tests on Windows.

func beOrphan()      {}
func beMiddle()      {}
func waitForParent() {}
