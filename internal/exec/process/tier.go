package process

import "slices"

// Tier is the means by which all processes of a command are found and ended.
type Tier int

// Together returns the tiers in which commands see each other's processes.
func Together() []Tier {
	return slices.DeleteFunc(systemTiers(), func(t Tier) bool { return t == PIDNamespace })
}

// The tiers, worst first.
const (
	// None means that no command can run on this system.
	None Tier = iota
	// ProcessGroup reaches the processes that stay in the command's process group.
	// A process in a session or group of its own escapes. It is the tier of Unix
	// systems other than Linux.
	ProcessGroup
	// Subreaper reaches every descendant: the supervisor adopts orphans, and the
	// tree is stopped and killed until nothing is left. A command can kill its
	// supervisor, as the same user; then the processes outside of its process group
	// escape.
	Subreaper
	// Cgroup is Subreaper, and the kernel also kills all processes of a cgroup
	// (version 2) at once. Killing the supervisor does not help a command to
	// escape, since the server then kills the cgroup. A command that runs as root
	// could leave the cgroup; then only Subreaper applies.
	Cgroup
	// PIDNamespace makes the supervisor the first process of a PID namespace; when
	// it ends, the kernel ends every process in the namespace. The command neither
	// sees nor can signal any process outside, and cannot kill or stop its
	// supervisor.
	PIDNamespace
	// Job puts each command into a job object of Windows. A process cannot leave
	// it, and the system ends all its processes when the server closes it or ends.
	// Processes that a service starts for the command, such as scheduled tasks, are
	// not in it.
	Job
)

// String returns a description of the tier for users.
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
