package sandbox

// May reports whether ordinary rights let this process read or write a file; of
// one that is absent, whether they let it be made.
func May(path string, write bool) bool { return may(path, write) }
