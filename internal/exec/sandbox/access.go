package sandbox

// May reports whether the file permissions allow this process to read or write a
// file. For an absent file and write, it reports whether the file may be created.
func May(path string, write bool) bool { return may(path, write) }
