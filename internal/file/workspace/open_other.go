//go:build !linux

package workspace

func newOpener(r *Roots) opener { return walk{r} }

// isCanonical returns false: on these systems only the walk can find out.
func isCanonical(string) bool { return false }
