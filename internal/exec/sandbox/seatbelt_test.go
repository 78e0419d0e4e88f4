package sandbox

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/seatbelt.sb")

// fakeStored imitates the links and the files of a Mac.
func fakeStored(path string) (string, bool) {
	for _, link := range []string{"/tmp", "/var", "/etc"} {
		if below(path, link) {
			path = "/private" + path
		}
	}
	path = strings.Replace(path, "/me/SRC/", "/me/src/", 1) // stored so
	if below(path, "/Users/me/src/app/link") {
		path = strings.Replace(path, "/app/link", "/other", 1)
	}
	return path, !strings.Contains(path, "absent")
}

// seatbeltPolicy uses every field of a policy.
func seatbeltPolicy() Policy {
	return Policy{
		Write:   []string{"/Users/me/SRC/app", "/Users/me/src/absent", "/tmp/exact link"},
		Read:    []string{"/usr", "/opt", "/Users/me/.gitconfig"},
		Exact:   []string{"/tmp/exact link"},
		List:    []string{"/Users/me/Music"},
		Hide:    []string{"/Users/me/.ssh", "/Users/me/SRC/app/.env", "/Users/me/SRC/app/link", "/etc/sudoers"},
		Protect: []string{"/Users/me/SRC/app/.git/config", "/Users/me/src/app/.git/absent-hooks"},
		TempDir: "/var/folders/x/T/mcp-toolset-1/abcd",
		Network: true,
	}
}

func TestSeatbeltGolden(t *testing.T) {
	got := seatbeltProfile(seatbeltPolicy(), fakeStored)
	golden := filepath.Join("testdata", "seatbelt.sb")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%v; look at the change, then go test -run TestSeatbeltGolden -update\n%s", err, got)
	}
}

// decide imitates Seatbelt for one access of a file, or of the sysctl with the name path, by a command
// on something that is not its own: the last rule that matches decides. Without a rule, operations of
// uncovered are allowed.
func decide(t *testing.T, profile, operation, path string, folder bool) bool {
	t.Helper()
	allowed := uncovered(operation)
	var matches func(f any) bool
	matches = func(f any) bool {
		form := f.([]any)
		switch form[0] {
		case symbol("subpath"):
			return below(path, form[1].(string))
		case symbol("literal"):
			return path == form[1].(string)
		case symbol("sysctl-name"):
			return strings.HasPrefix(operation, "sysctl") && path == form[1].(string)
		case symbol("sysctl-name-prefix"):
			return strings.HasPrefix(operation, "sysctl") && strings.HasPrefix(path, form[1].(string))
		case symbol("target"):
			return path == string(form[1].(symbol))
		case symbol("vnode-type"):
			return folder
		case symbol("require-all"):
			return !slices.ContainsFunc(form[1:], func(f any) bool { return !matches(f) })
		}
		return false // of sockets, terminals
	}
	for _, rule := range parseProfile(t, profile) {
		var filters []any
		applies := false
		for _, part := range rule[1:] {
			op, ok := part.(symbol)
			if !ok {
				filters = append(filters, part)
				continue
			}
			prefix, wild := strings.CutSuffix(string(op), "*")
			applies = applies || string(op) == operation || op == "default" && !uncovered(operation) || wild && strings.HasPrefix(operation, prefix)
		}
		if applies && (len(filters) == 0 || slices.ContainsFunc(filters, matches)) {
			allowed = rule[0] == symbol("allow")
		}
	}
	return allowed
}

// uncovered reports whether (deny default) may not cover an operation.
func uncovered(operation string) bool {
	return operation == "iokit-get-properties" || strings.HasPrefix(operation, "process-info") || strings.HasPrefix(operation, "nvram")
}

// What a policy grants, hides and protects is decided so by the profile.
func TestSeatbeltDecisions(t *testing.T) {
	p := seatbeltPolicy()
	ro := p
	ro.ReadOnly = true
	const read, write, unlink = "file-read-data", "file-write-data", "file-write-unlink"
	for _, tc := range []struct {
		policy    Policy
		operation string
		path      string
		want      bool
	}{
		{p, read, "/Users/me/src/app/main.go", true},
		{p, write, "/Users/me/src/app/main.go", true},
		{ro, read, "/Users/me/src/app/main.go", true},
		{ro, write, "/Users/me/src/app/main.go", false},
		{p, write, "/Users/me/src/apple", false},
		{p, read, "/Users/me/src/apple", false},
		{p, write, "/private/var/folders/x/T/mcp-toolset-1/abcd/f", true},
		{ro, write, "/private/var/folders/x/T/mcp-toolset-1/abcd/f", true},
		{p, write, "/private/var/folders/x/T/mcp-toolset-1/other", false},
		{p, read, "/usr/bin/git", true},
		{p, read, "/System/Library/x", true},
		{p, read, "/System/Volumes/Data/Users/me/.ssh/id_rsa", false},
		{p, write, "/usr/local/bin/x", false},
		{p, read, "/private/etc/hosts", true},
		{p, read, "/private/etc/sudoers", false},
		{p, read, "/Users/me/.gitconfig", true},
		{p, write, "/Users/me/.gitconfig", false},
		{p, read, "/Users/me/.ssh/id_rsa", false},
		{p, "file-read-metadata", "/Users/me/.ssh", true},
		{p, read, "/Users/me/src/app/.env", false},
		{p, write, "/Users/me/src/app/.env", false},
		{p, unlink, "/Users/me/src/app/link", false}, // the link itself
		{p, read, "/Users/me/src/other", false},
		{p, read, "/Users/me/src/app/.git/config", true},
		{p, write, "/Users/me/src/app/.git/config", false},
		{p, "file-write-create", "/Users/me/src/app/.git/absent-hooks", false},
		{p, write, "/Users/me/src/app/.git/HEAD", true},
		{p, unlink, "/Users/me/src/app/.git", false},
		{p, unlink, "/Users/me/src/app", false},
		{p, unlink, "/Users/me/src/app/.git/HEAD", true},
		{p, read, "/Users/me/Music/song", false},
		{p, write, "/tmp/exact link", true},
		{p, write, "/private/tmp/exact link", false},
		{p, "file-write-setugid", "/Users/me/src/app/main", false},
		{p, "file-link", "/Users/me/src/app/main.go", false},
		{p, "file-clone", "/Users/me/src/app/main.go", false},
		{p, write, "/dev/null", true},
		{p, "mach-register", "", false},
		{p, "process-info-pidinfo", "same-sandbox", true},
		{p, "process-info-pidinfo", "others", false},
		{p, "nvram-get", "", false},
		{p, "iokit-get-properties", "", false},
		{p, "sysctl-read", "kern.proc.pid.1", true},
		{p, "sysctl-read", "kern.osrelease", true},
		{p, "sysctl-read", "kern.procargs2", false},
		{p, "sysctl-read", "kern.procargs2.1", false},
		{p, "sysctl-read", "kern.bootargs", false},
	} {
		if got := decide(t, seatbeltProfile(tc.policy, fakeStored), tc.operation, tc.path, false); got != tc.want {
			t.Errorf("%s %s, read-only %v: %v", tc.operation, tc.path, tc.policy.ReadOnly, got)
		}
	}
	wide := strings.Replace(seatbeltProfile(p, fakeStored), `"kern.proc.pid."`, `"kern."`, 1)
	if !decide(t, wide, "sysctl-read", "kern.bootargs", false) || decide(t, wide, "sysctl-read", "kern.procargs2", false) {
		t.Error("the environment of other processes is denied only as long as no rule allows more")
	}
	if !decide(t, seatbeltProfile(p, fakeStored), read, "/Users/me/Music/album", true) {
		t.Error("a folder of List cannot be listed")
	}
}

// The network is closed except where the policy opens it, and sockets to all but the
// command's own folders.
func TestSeatbeltNetwork(t *testing.T) {
	for _, tc := range []struct {
		network, readOnly, net, unix bool
	}{{true, false, true, true}, {false, false, false, true}, {true, true, false, false}, {false, true, false, false}} {
		p := seatbeltPolicy()
		p.Network, p.ReadOnly = tc.network, tc.readOnly
		profile := seatbeltProfile(p, fakeStored)
		if got := strings.Contains(profile, "(allow network* (local ip) (remote ip))"); got != tc.net {
			t.Errorf("%+v: network %v", tc, got)
		}
		if got := strings.Contains(profile, `(remote unix-socket (subpath "/Users/me/src/app"))`); got != tc.unix {
			t.Errorf("%+v: sockets %v", tc, got)
		}
		if !tc.net && !tc.unix && strings.Contains(profile, "network") {
			t.Errorf("%+v: there are rules on the network", tc)
		}
	}
}

// Strings come back as they were, whatever is in a path, and add no rule.
func TestSeatbeltQuoting(t *testing.T) {
	plain := len(parseProfile(t, seatbeltProfile(Policy{Write: []string{"/w"}, ReadOnly: true, Hide: []string{"/w/x"}}, identity)))
	for _, name := range []string{`a"b`, `a\`, `a\"b`, `\\`, "new\nline", "\r\t\x01\x7f", "; (allow default)", `") (allow default) ("`, "é 日本", "#\"^x\"", "(param)", " "} {
		path := "/w/" + name
		rules := parseProfile(t, seatbeltProfile(Policy{Write: []string{"/w"}, ReadOnly: true, Hide: []string{path}}, identity))
		found := false
		for _, rule := range rules {
			for _, part := range rule {
				if filter, ok := part.([]any); ok && filter[0] == symbol("subpath") && filter[1] == path && rule[0] == symbol("deny") {
					found = true
				}
			}
		}
		if !found || len(rules) != plain {
			t.Errorf("%q: %v, %d rules instead of %d", name, found, len(rules), plain)
		}
	}
}

func identity(path string) (string, bool) { return path, true }

// Paths are found as their folders store them, and absent ones by their folder.
func TestStoredPaths(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	s := newStoredPaths()
	for _, tc := range []struct {
		path, want string
		exists     bool
	}{{"link/sub", "real/sub", true}, {"link/absent/x", "real/absent/x", false}, {"real", "real", true}} {
		if got, exists := s.find(filepath.Join(dir, tc.path)); got != filepath.Join(dir, filepath.FromSlash(tc.want)) || exists != tc.exists {
			t.Errorf("%s: %s, %v", tc.path, got, exists)
		}
	}
	// A hard link with a name of another case stands in for a file system that ignores
	// case: the exact name is preferred, and a listing that lacks it is searched.
	upper := filepath.Join(dir, "FILE")
	if err := os.WriteFile(upper, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.name(dir, "FILE") // lists the folder
	if err := os.Link(upper, filepath.Join(dir, "file")); err != nil {
		t.Skip(err)
	}
	fresh := newStoredPaths()
	if got := fresh.name(dir, "file"); got != "file" {
		t.Errorf("an exact name became %s", got)
	}
	fresh.entries[dir] = slices.DeleteFunc(slices.Clone(fresh.entries[dir]), func(e os.DirEntry) bool { return e.Name() == "file" })
	if got := fresh.name(dir, "file"); got != "FILE" {
		t.Errorf("another case became %s", got)
	}
}

// symbol is a word of a profile other than a string.
type symbol string

// parseProfile parses a profile as TinyScheme reads it and checks that it has only
// operations and filters that profiles in use have.
func parseProfile(t *testing.T, text string) [][]any {
	t.Helper()
	known := func(table string) map[string]bool {
		m := map[string]bool{}
		for _, word := range strings.Fields(table) {
			m[word] = true
		}
		return m
	}
	operations := known(`default nvram* iokit-get-properties process-exec process-fork process-info* signal mach-priv-task-port mach-host* mach-lookup iokit-open
		sysctl-read sysctl-write ipc-posix-sem ipc-posix-shm pseudo-tty system-socket network* network-bind network-inbound network-outbound
		file-read* file-read-data file-read-metadata file-write* file-write-data file-write-unlink file-write-setugid file-ioctl`)
	filters := known(`target sysctl-name sysctl-name-prefix global-name iokit-registry-entry-class literal subpath regex extension require-all
		vnode-type socket-domain local remote path-literal unix-socket`)
	words := known(`same-sandbox DIRECTORY AF_UNIX ip unix-socket`)

	rest := text
	var next func() (any, error)
	next = func() (any, error) {
		for {
			rest = strings.TrimLeft(rest, " \n")
			if !strings.HasPrefix(rest, ";") {
				break
			}
			_, rest, _ = strings.Cut(rest, "\n")
		}
		switch {
		case rest == "":
			return nil, nil
		case rest[0] == '(':
			rest = rest[1:]
			list := []any{}
			for {
				item, err := next()
				switch {
				case err != nil:
					return nil, err
				case item == nil:
					return nil, fmt.Errorf("a list does not end")
				case item == symbol(")"):
					return list, nil
				}
				list = append(list, item)
			}
		case rest[0] == ')':
			rest = rest[1:]
			return symbol(")"), nil
		case rest[0] == '"' || strings.HasPrefix(rest, `#"`):
			raw := rest[0] == '#'
			rest = rest[strings.IndexByte(rest, '"')+1:]
			var b strings.Builder
			for i := 0; i < len(rest); i++ {
				switch {
				case rest[i] == '"':
					rest = rest[i+1:]
					return b.String(), nil
				case rest[i] == '\\' && !raw:
					if i++; i == len(rest) || rest[i] != '"' && rest[i] != '\\' {
						return nil, fmt.Errorf("an escape sequence of unknown meaning")
					}
				}
				b.WriteByte(rest[i])
			}
			return nil, fmt.Errorf("a string does not end")
		}
		end := strings.IndexAny(rest, " \n()\"")
		word := rest[:end]
		rest = rest[end:]
		return symbol(word), nil
	}
	var check func(form []any)
	check = func(form []any) {
		name, _ := form[0].(symbol)
		if !filters[string(name)] {
			t.Fatalf("unknown filter %v", form)
		}
		for _, arg := range form[1:] {
			switch arg := arg.(type) {
			case []any:
				check(arg)
			case string:
				if arg == "" {
					t.Fatalf("an empty string: %v", form)
				}
			case symbol:
				if !words[string(arg)] {
					t.Fatalf("unknown word in %v", form)
				}
			}
		}
	}
	var rules [][]any
	for {
		item, err := next()
		if err != nil {
			t.Fatalf("%v before %q", err, rest)
		}
		if item == nil {
			break
		}
		rule, ok := item.([]any)
		if !ok || len(rule) < 2 {
			t.Fatalf("not a rule: %v", item)
		}
		switch {
		case rule[0] == symbol("version") && rule[1] == symbol("1") && len(rules) == 0:
			rules = append(rules, rule)
			continue
		case rule[0] != symbol("allow") && rule[0] != symbol("deny") || len(rules) == 0:
			t.Fatalf("unknown rule %v", rule)
		}
		if op, ok := rule[1].(symbol); !ok || op == "default" && len(rules) != 1 {
			t.Fatalf("a rule without an operation, or a late default: %v", rule)
		}
		for _, part := range rule[1:] {
			switch part := part.(type) {
			case symbol:
				if !operations[string(part)] {
					t.Fatalf("unknown operation %s", part)
				}
			case []any:
				check(part)
			default:
				t.Fatalf("a string in the place of a filter: %v", rule)
			}
		}
		rules = append(rules, rule)
	}
	return rules
}
