package policy

import (
	"fmt"
	"strings"
	"testing"
)

// thousand returns 1,000 rules as in a large shared settings file. None of them covers
// the calls of the benchmark.
func thousand(t testing.TB) Rules {
	var rules []entry
	add := func(list, format string, n int) {
		for i := range n {
			rules = append(rules, entry{list, fmt.Sprintf(format, i)})
		}
	}
	add("deny", "Read(secret%d.key)", 100)
	add("deny", "Read(*.pem%d)", 100)
	add("deny", "Read(~/.config/app%d/**)", 50)
	add("deny", "Edit(gen%d/**)", 100)
	add("deny", "Edit(**/lock-*-%d.json)", 50)
	add("ask", "Edit(deploy/stage%d/*.yaml)", 100)
	add("ask", "Read(//srv/team%d/private)", 100)
	add("allow", "Read(//srv/team%d/**)", 150)
	add("allow", "Edit(src/pkg%d/**/*.go)", 100)
	add("allow", "Bash(npm run task%d)", 100)
	add("allow", "mcp__server%d", 50)
	if len(rules) != 1000 {
		t.Fatalf("%d rules", len(rules))
	}
	return ruleset(rules...)
}

func BenchmarkDecide(b *testing.B) {
	p := New(world(thousand(b)))
	for name, call := range map[string]string{
		"read":    "Read /ws/src/server/handlers/session/store.go",
		"edit":    "Edit /ws/src/server/handlers/session/store.go",
		"linked":  "Edit /ws/src/link/store.go -> /lib/src/server/handlers/store.go",
		"outside": "Read /srv/nobody/data/report.txt",
		"bash":    "Bash: go test ./...",
	} {
		b.Run(name, func(b *testing.B) {
			r := request(call)
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(r)
			}
		})
	}
}

// BenchmarkDecideParts measures a command of five parts that names three files, under
// 1,000 rules, 300 of them on commands.
func BenchmarkDecideParts(b *testing.B) {
	var rules []entry
	add := func(list, format string, n int) {
		for i := range n {
			rules = append(rules, entry{list, fmt.Sprintf(format, i)})
		}
	}
	add("deny", "Bash(tool%d run:*)", 60)
	add("deny", "Bash(git x%d *)", 60)
	add("deny", "Bash(* --flag%d)", 30)
	add("ask", "Bash(npm run task%d)", 50)
	add("allow", "Bash(go run cmd%d:*)", 50)
	add("allow", "Bash(make target%d*)", 50)
	add("deny", "Read(secret%d.key)", 100)
	add("deny", "Read(*.pem%d)", 100)
	add("deny", "Read(~/.config/app%d/**)", 50)
	add("deny", "Edit(gen%d/**)", 100)
	add("deny", "Edit(**/lock-*-%d.json)", 50)
	add("ask", "Edit(deploy/stage%d/*.yaml)", 100)
	add("allow", "Read(//srv/team%d/**)", 100)
	add("allow", "Edit(src/pkg%d/**/*.go)", 100)
	if len(rules) != 1000 {
		b.Fatalf("%d rules", len(rules))
	}
	p := New(world(ruleset(rules...)))
	parts := &Parts{}
	for _, text := range []string{"cd src", "git log --oneline -n 5", "npm run build", "go test ./...", "/usr/bin/make all"} {
		parts.List = append(parts.List, Part{Text: text, Name: text[strings.LastIndex(text, "/bin/")+1:], Allowable: true})
	}
	parts.List[4].Name = "make all"
	for path, a := range map[string]Access{"/ws/src": Read, "/ws/src/server/handlers/store.go": Read, "/ws/build/out.log": Edit} {
		parts.Targets = append(parts.Targets, Target{Literal: path, Canonical: path, Access: a})
	}
	r := Request{Tool: "Bash", Dir: "/ws", Parts: parts}
	if d := p.Decide(r); d.Behavior != Allow || d.Layer != LayerDefault {
		b.Fatalf("%+v", d)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(r)
	}
}

func BenchmarkNew(b *testing.B) {
	s := thousand(b)
	for b.Loop() {
		New(world(s))
	}
}
