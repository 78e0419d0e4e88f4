package process

import "slices"

// Tier is how everything that a command started is found when it is ended.
type Tier int

// Together returns the tiers in which commands see the processes of others.
func Together() []Tier {
	return slices.DeleteFunc(systemTiers(), func(t Tier) bool { return t == PIDNamespace })
}

// The tiers, worst first.
const (
	// None: nothing can be run on this system.
	None Tier = iota
	// ProcessGroup reaches what stayed in the command's process group: a
	// process in a session or group of its own escapes. It is what systems
	// other than Linux have.
	ProcessGroup
	// Subreaper reaches every descendant: what loses its parent is adopted by
	// the supervisor, and the tree is stopped and killed until nothing is left.
	// A command that kills its supervisor, which it may as the same user,
	// escapes with what is outside of its process group.
	Subreaper
	// Cgroup is Subreaper with the kernel killing all of a cgroup (version 2)
	// at once. A command that kills its supervisor gains nothing, since the
	// server kills the cgroup then. As root it could leave the cgroup, and is
	// then as with Subreaper.
	Cgroup
	// PIDNamespace has the supervisor as the first process of a PID namespace,
	// with which the kernel ends every process in it. The command neither sees
	// nor can signal anything outside, and cannot kill or stop its supervisor.
	PIDNamespace
	// Job has each command in a job object of Windows. A process cannot leave it,
	// and the system ends all of them when the server closes it or is gone. A process
	// that a service starts for the command, such as a scheduled task, is not in it.
	Job
)

// String describes a tier to people.
func (t Tier) String() string {
	switch t {
	case Job:
		return "job object"
	case PIDNamespace:
		return "PID namespace"
	case Cgroup:
		return "cgroup"
	case Subreaper:
		return "subreaper"
	case ProcessGroup:
		return "process group"
	}
	return "none"
}
