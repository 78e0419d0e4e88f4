package sandbox

// Supported reports whether this system may be able to confine commands.
const Supported = true

// Within checks a policy and calls start. Launcher confines the command itself.
func Within(p Policy, start func(Coverage) error) error {
	if err := p.check(); err != nil {
		return err
	}
	c := Coverage{Seatbelt: true}
	for _, a := range attempts {
		if len(a.try) == 0 {
			c.Missing = append(c.Missing, a.promise+": not covered by Seatbelt")
		}
	}
	return start(c)
}

// Launcher returns the arguments that confine the command that follows them.
func Launcher(p Policy) []string { return sandboxed(seatbeltProfile(p, newStoredPaths().find)) }

// CurrentNamespaces returns no namespaces.
func CurrentNamespaces() Namespaces { return Namespaces{} }

// systemLimits are the limits that only this system has.
var systemLimits = []string{
	"containment on macOS is experimental: it was written without a Mac, and the trial above is all that shows what it does",
}
