package sandbox

import "os"

// Absent lists what a policy protects and is not there, which no mask covers.
func Absent(p Policy) []string {
	var out []string
	for _, path := range p.Protect {
		if _, err := os.Lstat(path); os.IsNotExist(err) {
			out = append(out, path)
		}
	}
	return out
}

// Appeared lists what of these was made meanwhile. A server that looks after a
// command knows what it made under a protected name, and can take it away
// before anybody else trusts it.
func Appeared(p Policy, absent []string) []string {
	if p.ReadOnly {
		return nil
	}
	var out []string
	for _, path := range absent {
		if _, err := os.Lstat(path); err == nil {
			out = append(out, path)
		}
	}
	return out
}
