package sandbox

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestBlocked(t *testing.T) {
	needUnix(t)
	h := home(t, "root/file", "root/.env", "root/.git/config", "readable/file", "outside/file", "temp/x", "root/a b")
	p := Policy{
		Write: []string{h + "/root"}, Read: []string{h + "/readable", "/usr"}, TempDir: h + "/temp",
		Hide: []string{h + "/root/.env"}, Protect: []string{h + "/root/.git/config"},
	}
	online, readOnly := p, p
	online.Network, readOnly.ReadOnly = true, true
	apart := online
	apart.OwnNetwork = true
	others := p
	others.Hide = []string{"/var/tmp"} // temporary files of others
	for _, c := range []struct {
		p      Policy
		output string
		want   string // expected in the only fact; "" for no fact
	}{
		{p, "cat: " + h + "/outside/file: Permission denied", "/outside/file, which may not be read or changed"},
		{p, "cat: ../outside/file: Permission denied", "/outside/file, which may not be read or changed"},
		{p, "bash: line 1: ../outside/new: Permission denied", "/outside/new, which may not be read or changed"},
		{p, "cat: " + h + "/outside/file: No such file or directory", "/outside/file, which may not be read or changed"},
		{p, "bash: line 1: cd: ../outside: No such file or directory", "/outside, which may not be read or changed"},
		{p, "touch: cannot touch '" + h + "/outside/new': No such file or directory", "/outside/new, which may not be read or changed"},
		{p, "cat: " + h + "/new: No such file or directory", ""}, // the folder leads to readable paths
		{p, "cat: " + h + "/new/none: No such file or directory", ""},
		{p, "cat: none: No such file or directory", ""},
		{p, "cat: ../readable/none: No such file or directory", ""},
		{p, "touch: cannot touch '" + h + "/readable/new': Read-only file system", "may be read but not changed"},
		{p, "rm: cannot remove '../readable/file': Permission denied", "may be read but not changed"},
		{p, "cat: ../readable/file: Permission denied", ""},
		{p, "cat: .env: Permission denied", ".env, which is hidden from commands: it may hold credentials, so work without it"},
		{p, "error: could not lock config file .git/config: Read-only file system", ".git/config, which is protected"},
		{p, "error: could not write config file .git/config: Device or resource busy", ".git/config, which is protected"},
		{p, "mv: cannot move '.git' to 'x': Device or resource busy", ".git/config in it is hidden or protected"},
		{p, "rm: cannot remove 'file': Device or resource busy", ""},
		{p, "chmod: changing permissions of 'file': Operation not permitted", "setuid and setgid"},
		{p, "install: cannot change permissions of 'file': Operation not permitted", "setuid and setgid"},
		{p, "cp: preserving permissions for ‘file’: Operation not permitted", "setuid and setgid"},
		{p, "tar: file: Cannot change mode to rwxr-sr-x: Operation not permitted", "setuid and setgid"},
		{p, "Error: EPERM: operation not permitted, chmod 'file'", "setuid and setgid"},
		{p, "chmod: changing permissions of 'absent': Operation not permitted", ""},
		{p, "chown: changing ownership of 'file': Operation not permitted", ""},
		{p, "PermissionError: [Errno 13] Permission denied: '" + h + "/outside/file'", "/outside/file, which may not"},
		{p, "Error: EACCES: permission denied, open '" + h + "/outside/file'", "/outside/file, which may not"},
		{p, "open " + h + "/outside/file: permission denied", "/outside/file, which may not"},
		{p, "cat: file: Permission denied", ""},
		{p, "cat: 'a b': Permission denied", ""},
		{p, "cat: " + h + "/temp/x: Permission denied", ""},
		{p, "cat: /no/such/file/at/all: Permission denied", ""},
		{p, "curl: (6) Could not resolve host: example.org", "network is closed"},
		{online, "curl: (6) Could not resolve host: example.org", ""},
		{apart, "curl: (6) Could not resolve host: example.org", "commands reach the network only through the proxy in HTTPS_PROXY (HTTP and SOCKS5): use it (with git, an https:// URL instead of ssh), or ask the user to set sandbox.network to \"allow\" in the settings"},
		{apart, "ssh: Could not resolve hostname github.com: Temporary failure in name resolution", "through the proxy"},
		{apart, "ping: example.org: Temporary failure in name resolution", "through the proxy"},
		{apart, "connect: Network is unreachable", "through the proxy"},
		{apart, "ping: socket: Operation not permitted", "through the proxy"},
		{apart, "OSError: [Errno 101] Network is unreachable", "through the proxy"},
		{apart, "socket.gaierror: [Errno -3] Temporary failure in name resolution", "through the proxy"},
		{apart, "dial tcp: lookup example.org on 127.0.0.53:53: read udp 127.0.0.1:4->127.0.0.53:53: read: connection refused", "through the proxy"},
		{apart, "curl: (7) Failed to connect to localhost port 3000 after 0 ms: Couldn't connect to server", ""},
		{apart, "Error: connect ECONNREFUSED 127.0.0.1:3000", ""},
		{p, "socket: Operation not permitted", "network is closed"},
		{p, "dial tcp 127.0.0.1:80: socket: operation not permitted", "sandbox.network to allow"},
		{online, "curl: (6) Could not resolve host: example.org", ""},
		{readOnly, "curl: (6) Could not resolve host: example.org", "use Bash"},
		{readOnly, "touch: cannot touch 'new': Permission denied", "use Bash"},
		{readOnly, "rm: cannot remove '" + h + "/root/file': Read-only file system", "use Bash"},
		{readOnly, "chmod: changing permissions of '" + h + "/temp/x': Operation not permitted", "its mode, owner, times"},
		{readOnly, "cat: " + h + "/outside/file: Permission denied", "may not be read"},
		{p, "unshare: unshare failed: Operation not permitted", "unshare is a system call"},
		{p, "mount: /mnt: permission denied.", "mount is a system call"},
		{p, "newgrp: setgroups (1: Operation not permitted)", "setgroups is a system call"},
		{p, "Cannot connect to the Docker daemon at unix://" + h + "/outside/file. Is the docker daemon running?", "/outside/file is a socket of a service"},
		{p, "Cannot connect to the Docker daemon at unix:///no/such/file. Is the docker daemon running?", ""},
		{p, "npm error enoent ENOENT: no such file or directory, mkdir '" + h + "/readable/new'", "/readable/new, which may be read but not changed"},
		{others, "setup.sh: 1: cannot create /var/tmp/none-of-mcp-toolset: Read-only file system", "use $TMPDIR for temporary files"},
		{p, "all is well", ""},
		{p, "", ""},
	} {
		facts := Blocked(c.p, h+"/root", "", "first\n"+c.output+"\n")
		got := strings.Join(facts, "; ")
		if len(facts) > 1 || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s\n\tgives %q, want %q", c.output, facts, c.want)
		}
	}
}

// TestBlockedKinds checks hints on failures whose messages name no path, or half of one, and that
// failures for other reasons get none.
func TestBlockedKinds(t *testing.T) {
	needUnix(t)
	h := home(t, "root/file", "outside/file", "run/file", "go/x", "lib/node_modules/y", ".gnupg/private-keys-v1.d/k.key", "empty/.gnupg/pubring.kbx")
	t.Setenv("HOME", h)
	p := Policy{Write: []string{h + "/root"}, Read: []string{"/usr"}, Hide: []string{h + "/.gnupg", h + "/.aws"}, Network: true}
	readOnly := p
	readOnly.ReadOnly = true
	const (
		unnamed = "something was to be changed that commands may only read"
		outside = "/outside/q, which may not be read or changed"
		browser = "start it with --no-sandbox"
		signing = ", with the keys of gpg, is hidden from commands, so they neither sign nor decrypt"
	)
	for _, c := range []struct {
		p               Policy
		command, output string
		want            string
	}{
		// Folders made with those above them.
		{p, "", "Error: ENOENT: no such file or directory, mkdir '" + h + "/.config/zz'", "/.config, which may not be read or changed"},
		{p, "", "Error: ENOENT: no such file or directory, mkdir '" + h + "/zz'", "/zz, which may not be read or changed"},
		{p, "", "npm error enoent ENOENT: no such file or directory, mkdir '" + h + "/.npm-global/lib'", "/.npm-global, which may not be"},
		{p, "", "Error: ENOENT: no such file or directory, mkdir 'x/y'", ""},
		{p, "", "mkdir: cannot create directory ‘x/y/z’: No such file or directory", ""},
		{p, "", "mkdir: cannot create directory ‘" + h + "/none/y/z’: No such file or directory", ""},
		{p, "", "Error: ENOENT: no such file or directory, open '" + h + "/none/y'", ""},
		// Programs of the user.
		{p, "go install", "go: mkdir " + h + "/go/bin/: read-only file system", "as with GOBIN=$PWD/bin go install, or ask the user to add it to sandbox.allowWrite"},
		{p, "npm i -g x", "npm error Error: EROFS: read-only file system, mkdir '" + h + "/lib/node_modules/x'", "install into the project, without -g"},
		// Names relative to a folder that the command names.
		{p, "cd ../outside && touch q", "touch: cannot touch 'q': Read-only file system", outside},
		{p, "make -C ../outside", "touch: cannot touch 'q': Read-only file system", outside},
		{p, `python3 -c "os.chdir('` + h + `/outside');open('q','w')"`, "OSError: [Errno 30] Read-only file system: 'q'", outside},
		{p, "cd ~/outside; > q", "bash: line 1: q: Read-only file system", outside},
		{p, "git -C ../outside init", "fatal: cannot mkdir q: Read-only file system", outside},
		{p, "cd ../outside && cat none", "cat: none: Permission denied", ""},
		{p, "cat ../outside/file; cat file", "cat: file: Permission denied", ""},
		// No name, or one relative to an unknown folder.
		{p, "java V", "Exception in thread \"main\" java.io.IOException: Read-only file system", unnamed},
		{p, "zsh x", "zsh: can't create temp file for here document: read-only file system", unnamed},
		{p, "python3 x.py", "OSError: [Errno 30] Read-only file system: 'q'", unnamed},
		{p, "node x.js", "Error: EROFS: read-only file system, open 'q'", unnamed},
		{p, "ed -s f", "Read-only file system", unnamed},
		{readOnly, "java V", "java.io.IOException: Read-only file system", "this command runs read-only; use Bash"},
		{p, "make", "want: a read-only file system error", ""},
		{readOnly, "make", "want: Read-only file system error", ""},
		{p, "make", "see the chapter \"Read-only file system\" of the manual", ""},
		{p, "psql", "ERROR:  permission denied for table x", ""},
		{p, "git fetch", "git@example.com: Permission denied (publickey).", ""},
		{p, "sudo x", "sudo: a password is required", ""},
		{p, "./x", "bash: line 1: ./file: Permission denied", ""},
		{p, "npm test", "AssertionError: expected EACCES to equal EPERM", ""},
		{p, "cat none", "FileNotFoundError: [Errno 2] No such file or directory: 'none'", ""},
		// Browsers.
		{p, "chromium --headless", "[1:1:0101/000000.0:FATAL:zygote_host_impl_linux.cc(128)] No usable sandbox! If you are running on Ubuntu 23.10+", browser},
		{p, "npx electron .", "The SUID sandbox helper binary was found, but is not configured correctly.", browser},
		{p, "npx electron .", "Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = Operation not permitted", browser},
		{p, "chromium --headless", "[1:1:ERROR:chrome/app/chrome_main.cc:210] Failed to create headless user data directory container.", "start it with --user-data-dir=$TMPDIR/profile"},
		{p, "chromium", "The page crashed: no sandbox", ""},
		// Keys.
		{p, "git commit", "error: gpg failed to sign the data:", signing},
		{p, "gpg -d x.gpg", "gpg: decryption failed: No secret key", signing},
		{p, "gpg -s x", "gpg: signing failed: No secret key", signing},
		{p, "gpg -k", "gpg: Fatal: can't create directory '" + h + "/.aws': Read-only file system", "/.aws, which "},
		{p, `python3 -c "os.chdir(\"` + h + `/outside\");open(\"q\",\"w\")"`, "OSError: [Errno 30] Read-only file system: 'q'", outside},
		{p, "gpg --verify x", "gpg: Can't check signature: No public key", ""},
	} {
		facts := Blocked(c.p, h+"/root", c.command, "first\n"+c.output+"\n")
		if len(facts) == 0 {
			if fact := Unnamed(c.p, h+"/root", c.output); fact != "" {
				facts = append(facts, fact)
			}
		}
		got := strings.Join(facts, "; ")
		if len(facts) > 1 || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %s\n\tgives %q, want %q", c.command, c.output, facts, c.want)
		}
	}
	t.Setenv("HOME", h+"/empty")
	if facts := Blocked(p, h+"/root", "git commit -S", "error: gpg failed to sign the data"); len(facts) > 0 {
		t.Errorf("without keys: %q", facts)
	}
}

// TestBlockedCredentials checks that no output makes a fact that recommends to open a credential.
func TestBlockedCredentials(t *testing.T) {
	needUnix(t)
	// h is a folder of temporary files.
	h := home(t, "root/x", ".ssh/id_rsa", ".aws/credentials", ".netrc", "backup/.ssh/config", "keys/server.pem", "x/id_ed25519", "x/my-secrets/a", "x/.env.local", "x/token.txt", "plain/file")
	t.Setenv("HOME", h)
	p := Policy{Write: []string{h + "/root"}, Hide: []string{h + "/.ssh"}}
	readOnly := p
	readOnly.ReadOnly = true
	for _, path := range []string{
		h + "/.ssh/id_rsa", h + "/.ssh", h + "/.aws/credentials", h + "/.netrc", h + "/backup/.ssh/config", h + "/keys/server.pem", h + "/x/id_ed25519",
		h + "/x/my-secrets/a", h + "/x/.env.local", h + "/x/token.txt", h, "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root", "/home", "/",
		"../.ssh/id_rsa", "../.NETRC", "../none/.ssh/id_rsa", "~/.ssh/id_rsa",
	} {
		for _, p := range []Policy{p, readOnly} {
			for _, form := range []string{"cat: %s: Permission denied", "bash: %s: Read-only file system", "cat: %s: No such file or directory", "EACCES: permission denied, open '%s'"} {
				for _, fact := range Blocked(p, h+"/root", "", fmt.Sprintf(form, path)) {
					if strings.Contains(fact, "allow") || strings.Contains(fact, "name it") || !strings.HasPrefix(fact, "the output names ") {
						t.Errorf("%s: %s", path, fact)
					}
				}
			}
		}
	}
	want := "the output names " + h + "/plain/file, which may not be read or changed: it is outside of the folders of this session; use $TMPDIR for temporary files, or ask the user to add it to sandbox.allowWrite in the settings"
	if facts := Blocked(p, h+"/root", "", "cat: "+h+"/plain/file: Permission denied"); len(facts) != 1 || facts[0] != want {
		t.Errorf("%q", facts)
	}
}

// TestBlockedByRights checks that there is no fact about the sandbox if file
// permissions are the reason.
func TestBlockedByRights(t *testing.T) {
	needUnix(t)
	if os.Getuid() == 0 {
		t.Skip("root has all rights")
	}
	p := Policy{Read: []string{"/usr"}}
	for _, output := range []string{"cat: /etc/shadow: Permission denied", "touch: cannot touch '/usr/x': Permission denied"} {
		if facts := Blocked(p, "/", "", output); len(facts) > 0 {
			t.Errorf("%s: %q", output, facts)
		}
	}
}

// TestBlockedIsCheap checks that the paths of the policy, often hundreds, are not
// resolved for output without a failure to explain. That is most output.
func TestBlockedIsCheap(t *testing.T) {
	var p Policy
	for i := range 100 {
		p.Read = append(p.Read, fmt.Sprintf("/none/%d", i))
	}
	if n := testing.AllocsPerRun(10, func() { Blocked(p, "/", "make", "ok\nFAIL: TestA\n") }); n > 50 {
		t.Errorf("%v allocations", n)
	}
}

func TestBlockedIsBounded(t *testing.T) {
	needUnix(t)
	h := home(t, "outside/file")
	var b strings.Builder
	for range 10000 {
		b.WriteString("cat: " + h + "/outside/file: Permission denied\n")
	}
	b.WriteString(strings.Repeat("/x'", 100000) + ": Permission denied")
	b.WriteString(strings.Repeat("\ncurl: (7) Couldn't connect to server", 5))
	if facts := Blocked(Policy{Network: true}, h, strings.Repeat("/x ", 100000), b.String()); len(facts) == 0 || len(facts) > blockedFacts {
		t.Errorf("%d facts", len(facts))
	}
}

// TestBlockedSocket checks that a socket that the client's message does not name is
// found in the command.
func TestBlockedSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("bound sockets are listed on Linux only")
	}
	h := home(t, "root/file", "run/file")
	p := Policy{Write: []string{h + "/root"}, Network: true}
	for _, socket := range []string{h + "/run/s", h + "/root/s"} {
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Skip(err) // the path is too long for a socket
		}
		defer l.Close()
	}
	const failed = "curl: (7) Failed to connect to x port 80 after 2 ms: Couldn't connect to server"
	for _, c := range []struct{ command, output, want string }{
		{"curl --unix-socket " + h + "/run/s http://x/", failed, "/run/s is a socket of a service"},
		{"curl --unix-socket='" + h + "/run/../run/s' http://x/", failed, "/run/s is a socket of a service"},
		{"x unix://" + h + "/run/s", "PermissionError: [Errno 13] Permission denied", "/run/s is a socket of a service"},
		{"python3 -c \"s.connect('" + h + "/run/s')\"", "FileNotFoundError: [Errno 2] No such file or directory", "/run/s is a socket of a service"},
		{"node x.js", "Error: connect ENOENT " + h + "/run/s", "/run/s is a socket of a service"},
		{"python3 -c \"s.connect('" + h + "/run/none')\"", "FileNotFoundError: [Errno 2] No such file or directory", ""},
		{"ls " + h + "/run/s; cat none", "cat: none: No such file or directory", ""},
		{"curl --unix-socket " + h + "/root/s http://x/", failed, ""},
		{"curl --unix-socket " + h + "/run/none http://x/", failed, ""},
		{"curl -o " + h + "/run/file http://x/", failed, ""},
		{"curl --unix-socket " + h + "/run/s http://x/", "curl: (52) Empty reply from server", ""},
	} {
		got := strings.Join(Blocked(p, h+"/root", c.command, c.output), "; ")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s gives %q, want %q", c.command, got, c.want)
		}
	}
}
