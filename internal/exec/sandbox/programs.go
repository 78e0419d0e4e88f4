package sandbox

import (
	"fmt"
	"regexp"
	"strconv"
)

// programFacts lists what programs print that fail for a reason of the sandbox which they do not
// name, with the flag that helps.
var programFacts = []struct {
	printed func() *regexp.Regexp
	fact    string
}{
	{
		lazy(`Failed to create (headless|a unique) user data directory|Failed to create \S*(ProcessSingleton|SingletonLock)`),
		"a browser may not make its profile in the home folder: start it with --user-data-dir=$TMPDIR/profile",
	},
	{
		// Chromium, Electron and programs that start them.
		lazy(`No usable sandbox!|The SUID sandbox helper binary was found, but|Failed to move to new namespace: PID namespaces supported`),
		"a browser cannot make its own sandbox within that of commands: start it with --no-sandbox; the command is contained already",
	},
	{
		lazy(`^E: .*\bset(groups|egid|euid|resuid|resgid) .*failed|Failed to setgroups - setgroups|^E: Method \S+ has died unexpectedly!|^E: Method gave invalid 400 URI Failure`),
		"apt as root changes its user for downloads, which commands may not: start it with -o APT::Sandbox::User=root",
	},
	{
		lazy(`Could not lock User prefs\.|Couldn't (create|flush) user pref|BackingStoreException: Couldn't get file lock`),
		"Java keeps preferences in the home folder, which commands may not change: start java with -Djava.util.prefs.userRoot=$TMPDIR",
	},
}

// programFact returns the fact of programFacts about a line, or "".
func programFact(line string) string {
	for _, p := range programFacts {
		if p.printed().MatchString(line) {
			return p.fact
		}
	}
	return ""
}

// unanswered matches failed connections to this machine: a name of it with a port. Some programs print
// words between them, and no reason.
var unanswered = lazy(`(?i)(?:refused|could ?n[o']t connect|can't connect|failed to connect).*?` + localAddress + `|` + localAddress + `.*(?:refused|could ?n[o']t connect|\(111\)|Errno 111)`)

const localAddress = `(?:\b127\.0\.0\.1|\blocalhost|::1)['"\])]*(?::|[,( ]+port[:=]? ?)(\d{2,5})\b`

// localServer returns the fact that a connection went to a server of this machine, which a command
// with a network of its own does not reach, or "".
func localServer(line string) string {
	m := unanswered().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	port, _ := strconv.Atoi(m[1] + m[2])
	if !listens(port) {
		return "" // the command would fail outside of the sandbox, too
	}
	return fmt.Sprintf("port %d of this machine belongs to a program outside of this session: commands have a localhost of their own; start the server with run_in_background, or ask the user to set sandbox.network to \"allow\" in the settings", port)
}
