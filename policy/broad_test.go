package policy

import (
	"strings"
	"testing"
)

// TestNoBroadRule checks that no text suggests a rule on a system folder, a home
// folder, a workspace root or a folder that contains one of them.
func TestNoBroadRule(t *testing.T) {
	broad := []string{
		"/", "/etc", "/usr", "/usr/lib", "/home", "/home/other", "/home/me", "/Users/me", "/var/lib", "/nix/store", "/tmp", "/proc", "/dev",
		"/data", "/data/ws", "/home/me/",
	}
	narrow := []string{"/etc/hosts", "/home/me/notes", "/home/other/notes", "/tmp/x", "/data/other", "/data/ws2", "/proc/cpuinfo", "/outside"}
	p := New(Config{Roots: []string{"/data/ws"}, Home: "/home/me", Mode: ModeDefault})
	for _, access := range []Access{Read, Edit} {
		texts := func(path string) (out []string) {
			target := Target{Literal: path, Canonical: strings.TrimSuffix(path, "/"), Access: access}
			if target.Canonical == "" {
				target.Canonical = "/"
			}
			for _, r := range []Request{
				{Tool: "Read", Dir: "/data/ws", Target: &target},
				{Tool: "Bash", Dir: "/data/ws", Parts: &Parts{List: []Part{{Text: "x", Allowable: true}}, Targets: []Target{target}}},
			} {
				d := p.Decide(r)
				out = append(out, d.Reason+". "+d.Next)
			}
			return append(out, p.CheckPath("Read", nil, target, "/data/ws", nil).Next)
		}
		for _, path := range broad {
			for _, text := range texts(path) {
				if strings.Contains(text, "rule such as") {
					t.Errorf("%s of %s: %s", access, path, text)
				}
			}
		}
		for _, path := range narrow {
			for _, text := range texts(path) {
				if !strings.Contains(text, "rule such as "+access.String()+"(/"+path+")") {
					t.Errorf("%s of %s: %s", access, path, text)
				}
			}
		}
	}
	for text, suggested := range map[string]bool{
		"rm -rf /": false, "rm -rf /etc": false, "sudo rm -rf //": false, "rm -rf ~": false, "rm -rf ~/": false, "rm -rf /home/me/../..": false,
		"rm -rf /data/ws": false, "dd of=/usr": false, "rm -rf build": true, "rm -rf /data/ws/build": true, "rm -rf ~/x": true, "git push --force": true,
	} {
		d := p.Decide(Request{Tool: "Bash", Dir: "/data/ws", Parts: &Parts{List: []Part{{Text: text, Allowable: true, Risk: "it destroys"}}}})
		if strings.Contains(d.Next, "rule such as Bash("+text+")") != suggested {
			t.Errorf("%s: %s", text, d.Next)
		}
	}
	// A target that is not among the words, as after cd.
	d := p.Decide(Request{Tool: "Bash", Dir: "/data/ws", Parts: &Parts{
		List: []Part{{Text: "rm -rf .", Allowable: true, Risk: "it destroys"}}, Targets: []Target{{Literal: "/data/ws", Canonical: "/data/ws", Access: Edit}},
	}})
	if strings.Contains(d.Next, "rule such as") {
		t.Error(d.Next)
	}
}
