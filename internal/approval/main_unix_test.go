//go:build unix

package approval

// Processes that only tests on Windows start.

func beOrphan()      {}
func beMiddle()      {}
func waitForParent() {}
