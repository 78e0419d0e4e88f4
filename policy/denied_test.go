package policy

import "testing"

// TestKeptInRoots checks which rules can hide files of a root from a command.
func TestKeptInRoots(t *testing.T) {
	for rule, want := range map[string]bool{
		"Read(.env)": true, "Read(**/.env)": true, "Read(/x)": true, "Read(a/b)": true, "Read(//ws/a)": true, "Read(//ws/**)": true, "Read(//**)": true, "Read(//)": true, "Read(~/**)": true, "Read(~/ws2/*.key)": true,
		"Read(//etc/shadow)": false, "Read(//etc/**)": false, "Read(~/.ssh/**)": false, "Read(~/.netrc)": false, "Edit(.env)": false, "Bash(curl *)": false,
	} {
		for _, list := range []string{"deny", "ask"} {
			p := New(Config{Rules: fileRules("/cfg/settings.json", "/ws", entry{list, rule}), Roots: []string{"/ws", "/home/u/ws2"}, Home: "/home/u"})
			if got := p.HidingRules("/ws", false).InRoots(Read); got != "" != want || want && got != rule {
				t.Errorf("%s %s: %q", list, rule, got)
			}
			if got := p.HidingRules("/ws", true).InRoots(Read); list == "ask" && got != "" {
				t.Errorf("agreed, %s: %q", rule, got)
			}
		}
	}
}
