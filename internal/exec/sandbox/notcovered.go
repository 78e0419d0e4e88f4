package sandbox

import "slices"

// NotCovered lists, for users, the limits that no layer enforces and no canary
// shows: one sentence each, without a full stop.
var NotCovered = slices.Concat(systemLimits, []string{
	"names, sizes and times of files can be looked at, and their use watched (inotify), except below /run, /tmp, /var/tmp and what is hidden",
	"a program that is setuid already and can be written to stays so when it is changed through a shared mapping",
	"a host is judged by the name that a command asks the proxy for: a server that answers for several names can be asked for another one over the same connection (domain fronting)",
	"commands of one session reach each other's ports, also by the proxy of another of them, and by a socket in a writable folder whoever listens there",
	"addresses, routes and open connections of the machine can be read from a network of its own, too (/proc/1/net, /sys/class/net)",
	"time, memory, disk space and the number of processes are not limited",
	"what is writable and run later, outside of the sandbox, is not contained then: build files, scripts, the commands of a rebase that the command itself has begun and left waiting",
	"files that git's configuration names (core.hooksPath, include, words of commands) are protected in repositories, but not in linked worktrees that are no root; those that files named by it name are not",
	"a step that a command adds to a waiting rebase stands there for up to 5 s; so does a change of .git/config if the user's git has changed that file while the command runs",
	"what a command writes to caches of build tools is used by later commands in the same workspace, and by other projects where doctor reports that they are shared",
	"protected names of editors and agents that were absent are taken away in the roots and the top folders of repositories there, but what git has committed stays and is reported; a command can commit",
	"what a command makes under a protected name that was absent stands there for up to 5 s, and if the server is killed until the next one starts its first command",
	"repositories are looked for down to 6 folders below a root, in 20,000 names and 50 ms, 100 of them, and not in node_modules; those beyond are protected only once they were found",
})
