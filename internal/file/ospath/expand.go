package ospath

// Expand makes path absolute and clean. It resolves "~" and "~/x" against home and
// relative paths against dir, which must be absolute. It accesses no files. An empty
// path remains empty. "~user" is an ordinary relative name, and so is "~" if home is
// not absolute.
//
// On Windows, \x is on the drive of dir. /c/x, which is the form of Unix shells,
// becomes C:\x.
func (s Style) Expand(path, dir, home string) string {
	switch {
	case path == "":
		return ""
	case s.IsAbs(path):
		return s.Clean(path)
	case path[0] == '~' && s.IsAbs(home) && (len(path) == 1 || s.isSeparator(path[1])):
		return s.Join(home, path[1:])
	case s.isSeparator(path[0]):
		if path[0] == '/' && len(path) >= 2 && isLetter(path[1]) && (len(path) == 2 || path[2] == '/') {
			return s.Clean(path[1:2] + ":/" + path[2:])
		}
		return s.Clean(readVolume(dir).name + path)
	}
	return s.Join(dir, path)
}

func (s Style) isSeparator(b byte) bool { return b == '/' || s.windows && b == '\\' }
