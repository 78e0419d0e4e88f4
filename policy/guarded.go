package policy

import "strings"

// ProjectFolder and ProjectFile are the names of the folder and the file of a
// project's settings.
const (
	ProjectFolder = ".mcp-toolset"
	ProjectFile   = "settings.json"
)

// inGuarded reports whether the call would change a path in Config.Guarded or any
// project's settings, or would replace their folder. It returns the path that shows
// this. It ignores case, as some file systems do. No rule and no mode lifts this
// protection.
func (c *call) inGuarded() (path string, ok bool) {
	if c.r.Target.Access != Edit {
		return "", false
	}
	for _, v := range [...]*view{&c.literal, &c.real} {
		if v.path != "" && (projectSettings(v.names) || c.p.guards(v.path)) {
			return v.path, true
		}
	}
	return "", false
}

func projectSettings(names []string) bool {
	n := len(names)
	return n > 0 && strings.EqualFold(names[n-1], ProjectFolder) ||
		n > 1 && strings.EqualFold(names[n-1], ProjectFile) && strings.EqualFold(names[n-2], ProjectFolder)
}

func (p *Policy) guards(path string) bool {
	for i := range p.guarded {
		if strings.EqualFold(p.guarded[i].path, path) {
			return true
		}
	}
	return false
}
