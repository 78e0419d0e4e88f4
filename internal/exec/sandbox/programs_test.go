package sandbox

import (
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestProgramFacts checks the facts about programs that do not name what the sandbox refused.
func TestProgramFacts(t *testing.T) {
	p := Policy{Write: []string{t.TempDir()}, Network: true}
	for _, c := range []struct{ output, want string }{
		{"[1128/1.2:ERROR:chrome/app/chrome_main.cc:210] Failed to create headless user data directory container.", "--user-data-dir"},
		{"[1128/1.2:ERROR:chrome/app/chrome_main.cc:210] Failed to create a unique user data directory for headless.", "--user-data-dir"},
		{"E: setgroups 65534 failed - setgroups (1: Operation not permitted)\nE: setegid 65534 failed - setegid (1: Operation not permitted)\nE: Method http has died unexpectedly!", "APT::Sandbox::User=root"},
		{"E: Method gave invalid 400 URI Failure message: Failed to setgroups - setgroups (1: Operation not permitted)", "APT::Sandbox::User=root"},
		{"WARNING: Could not lock User prefs.  Unix error code 30.", "-Djava.util.prefs.userRoot"},
		{"java.util.prefs.BackingStoreException: Couldn't get file lock.", "-Djava.util.prefs.userRoot"},
		{"E: Unable to locate package nosuch", ""},
		{"Failed to create the report", ""},
	} {
		facts := Blocked(p, p.Write[0], "", c.output)
		if got := strings.Join(facts, "; "); len(facts) > 1 || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s\n\tgives %q, want %q", c.output, facts, c.want)
		}
	}
}

// TestLocalServer checks that a failed connection to a server of this machine is explained, and
// that to a port on which nothing listens is not.
func TestLocalServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("commands have a network of their own on Linux only")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	apart := Policy{Write: []string{t.TempDir()}, Network: true, OwnNetwork: true}
	shared, readOnly := apart, apart
	shared.OwnNetwork, readOnly.ReadOnly = false, true
	for _, line := range []string{
		`psql: error: connection to server at "127.0.0.1", port PORT failed: Connection refused`,
		`psql: error: connection to server at "localhost" (127.0.0.1), port PORT failed: Connection refused`,
		"Could not connect to Redis at 127.0.0.1:PORT: Connection refused",
		"curl: (7) Failed to connect to localhost port PORT after 0 ms: Couldn't connect to server",
		"Error: connect ECONNREFUSED 127.0.0.1:PORT",
		"Error: connect ECONNREFUSED ::1:PORT",
		"dial tcp 127.0.0.1:PORT: connect: connection refused",
		"dial tcp [::1]:PORT: connect: connection refused",
		"ERROR 2003 (HY000): Can't connect to MySQL server on '127.0.0.1:PORT' (111)",
		"org.postgresql.util.PSQLException: Connection to localhost:PORT refused.",
		"pymongo.errors.ServerSelectionTimeoutError: localhost:PORT: [Errno 111] Connection refused",
		"requests.exceptions.ConnectionError: HTTPConnectionPool(host='localhost', port=PORT): [Errno 111] Connection refused",
		"nc: connect to localhost (127.0.0.1) port PORT (tcp) failed: Connection refused",
	} {
		at := func(p Policy, port string) string {
			return strings.Join(Blocked(p, p.Write[0], "", strings.ReplaceAll(line, "PORT", port)), "; ")
		}
		if got := at(apart, taken); !strings.HasPrefix(got, "port "+taken+" of this machine") || strings.Contains(got, ";;") {
			t.Errorf("%s\n\tgives %q", line, got)
		}
		if got := at(apart, unused) + at(shared, taken); got != "" {
			t.Errorf("%s\n\tgives %q where nothing listens or the network is shared", line, got)
		}
		if got := at(readOnly, taken); strings.Contains(got, "run_in_background") {
			t.Errorf("%s\n\tgives %q to a command that only reads", line, got)
		}
	}
	if got := Blocked(apart, apart.Write[0], "", "dial tcp: lookup example.org on 127.0.0.53:53: read udp 127.0.0.1:"+taken+"->127.0.0.53:53: read: no such host"); len(got) != 0 {
		t.Errorf("a failed look-up gives %q", got)
	}
}
