package sandbox

import "errors"

// Supported reports whether this system may be able to confine commands.
const Supported = true

// Within checks a policy and calls join and start. Launcher confines the command itself.
func Within(p Policy, join func() error, start func(Coverage) error) error {
	if err := errors.Join(p.check(), join()); err != nil {
		return err
	}
	c := Coverage{Seatbelt: true}
	for _, a := range attempts { // nothing is known before the trial
		reason := "Seatbelt permits it"
		if len(a.try) == 0 {
			reason = "not covered by Seatbelt"
		}
		c.Missing = append(c.Missing, a.promise+": "+reason)
	}
	return start(c)
}

// Launcher returns the program and arguments that confine the command that follows them.
func Launcher(p Policy) []string {
	return []string{"/usr/bin/sandbox-exec", "-p", seatbeltProfile(p, newStoredPaths().find), "--"}
}

// CurrentNamespaces returns no namespaces.
func CurrentNamespaces() Namespaces { return Namespaces{} }

// systemLimits are the limits that only this system has.
var systemLimits = []string{
	"containment on macOS is experimental: it was written without a Mac, so rely only on the promises that the trial above shows",
	"Seatbelt has a limit for the paths of a profile, some hundreds: with very many repositories below a root no command starts, and the error comes from sandbox-exec",
}
