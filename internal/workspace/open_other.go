//go:build !linux

package workspace

func newOpener(r *Roots) opener { return walk{r} }

// isCanonical never knows: here only the walk does.
func isCanonical(string) bool { return false }
