//go:build unix

package e2e

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestUpstreamCrash checks that a server that ends in the middle of a call fails only the
// calls that run there, and that the next call starts a new process.
func TestUpstreamCrash(t *testing.T) {
	t.Parallel()
	settings := `{"permissions":{"allow":["mcp__one","mcp__two"]},"mcpServers":{
		"one":{"command":"$UPSTREAM","args":["-log","$BASE/one"]},"two":{"command":"$UPSTREAM","args":["-legacy","-log","$BASE/two"]}}}`
	for _, k := range kinds {
		for victim, other := range map[string]string{"one": "two", "two": "one"} {
			t.Run(k.name+" "+victim, func(t *testing.T) {
				t.Parallel()
				p := startPlace(t, placeOptions{http: k.http, settings: settings})
				h := connect(t, p, k.modern, nil)
				for name, d := range doors {
					pid := h.must("mcp__"+victim+"__pid", `{}`).text
					elsewhere := h.must("mcp__"+other+"__pid", `{}`).text
					// A server receives more than calls.
					came := func(server, tool string) int {
						return len(slices.DeleteFunc(lines(t, p.base+"/"+server), func(l string) bool { return !strings.Contains(l, `"`+tool+`"`) }))
					}
					hung, slowed := came(victim, "hang"), came(other, "slow")
					until := p.base + "/until-" + name
					_, same := h.begin(direct, "mcp__"+victim+"__hang", `{}`)
					_, away := h.begin(direct, "mcp__"+other+"__slow", fmt.Sprintf(`{"until":%q}`, until))
					becomes(t, "both calls are under way", func() bool {
						return came(victim, "hang") > hung && came(other, "slow") > slowed
					})
					// It is called beside the others, so it must be killed from outside.
					n, err := strconv.Atoi(pid)
					if err != nil {
						t.Fatal(err)
					}
					if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
					if o := outcomeOf(h.await(same)); !o.fails("the server "+victim, "not known") {
						t.Errorf("%s: a call at a server that was killed: %s", name, o.show())
					}
					put(t, until, "")
					if o := outcomeOf(h.await(away)); !o.says("slow is done") {
						t.Errorf("%s: a call at another: %s", name, o.show())
					}
					if o := h.ask(d, "mcp__"+victim+"__echo", `{"again":1}`); !o.says(`{"again":1}`) {
						t.Errorf("%s: the next call: %s", name, o.show())
					}
					if o := h.ask(d, "mcp__"+victim+"__crash", `{}`); !o.fails("the server "+victim, "not known") || strings.Contains(o.text, "\x1b") {
						t.Errorf("%s: crash: %s", name, o.show())
					}
					if o := h.call("Glob", `{"pattern":"*"}`); o.failed || o.fault != "" {
						t.Errorf("%s: a tool of our own: %s", name, o.show())
					}
					if again := h.must("mcp__"+other+"__pid", `{}`).text; again != elsewhere {
						t.Errorf("%s: the other server was %s and is %s", name, elsewhere, again)
					}
					if again := h.must("mcp__"+victim+"__pid", `{}`).text; again == pid {
						t.Errorf("%s: the server is still %s", name, pid)
					}
				}
			})
		}
	}
}

// heldServers returns the settings of servers that never get ready: one crashes at its
// start, one blocks before its first message, one has no program, one has no listener,
// and one accepts connections and never answers.
func heldServers(t *testing.T) string {
	t.Helper()
	deaf, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = deaf.Close() })
	const server = `"command":"$UPSTREAM","eager":true`
	return fmt.Sprintf(`"crashed":{%s,"args":["-crash-at-start"]},"held":{%s,"args":["-gate","$BASE/gate","-mark","$BASE/held"]},
		"missing":{"command":"$BASE/no-such-program","eager":true},"nobody":{"url":"http://%s/mcp","eager":true},
		"deaf":{"url":"http://%s/mcp","eager":true}`, server, server, unserved(t), deaf.Addr())
}

// unserved returns an address without a listener, which no other process gets during the test.
func unserved(t *testing.T) string {
	t.Helper()
	syscall.ForkLock.RLock()
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(s)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(s) })
	if err := syscall.Bind(s, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(s)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

// TestUpstreamHeld checks that servers that are dead, slow or silent delay only calls of
// their own tools, whose errors state the reason. All answers here arrive while these
// servers block.
func TestUpstreamHeld(t *testing.T) {
	t.Parallel()
	settings := `{"permissions":{"allow":["mcp__held","mcp__good","mcp__crashed","mcp__missing","mcp__nobody","mcp__deaf"]},
		"mcpServers":{"good":{"command":"$UPSTREAM"},` + heldServers(t) + `}}`
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			p := startPlace(t, placeOptions{http: k.http, settings: settings, args: []string{"--deferral", "dispatch"}})
			put(t, p.root+"/a.txt", "one")
			h := connect(t, p, k.modern, nil)
			becomes(t, "the held server was started", func() bool { return there(p.base + "/held") })
			unheld := func(h *host) {
				t.Helper()
				if _, names, _ := h.listed(); !slices.Contains(names, "Read") {
					t.Errorf("the list is %v", names)
				}
				if o := h.call("Read", `{"file_path":"a.txt"}`); !o.says("one") && !o.says("not changed") {
					t.Errorf("Read: %s", o.show())
				}
				for name, d := range doors {
					if o := h.ask(d, "mcp__good__echo", `{"a":1}`); !o.says(`{"a":1}`) {
						t.Errorf("a good server, by %s: %s", name, o.show())
					}
				}
				if o := h.call("ToolSearch", `{"query":"echo"}`); !o.says("mcp__good__echo") || !o.says("held") || o.says("no-such-program") {
					t.Errorf("ToolSearch says which servers are not there where it found something: %s", o.show())
				}
				if o := h.call("ToolSearch", `{"query":"xylophone quartz"}`); !o.says("held") || !o.says("crashed") || !o.says("no-such-program") {
					t.Errorf("ToolSearch does not say which servers are not there: %s", o.show())
				}
			}
			for name, d := range doors {
				for server, why := range map[string]string{"crashed": "the database is gone", "missing": "no-such-program", "nobody": "nothing listens at its address"} {
					if o := h.ask(d, "mcp__"+server+"__echo", `{}`); o.says("") || !strings.Contains(o.text+o.fault, why) || !strings.Contains(o.text+o.fault, "server "+server) {
						t.Errorf("%s, by %s: %s", server, name, o.show())
					}
				}
			}
			unheld(h)
			_, held := h.begin(direct, "mcp__held__echo", `{"at":"last"}`)
			if k.http {
				unheld(connect(t, p, k.modern, nil)) // a call after it in the same lane may have to wait for it
			}
			select {
			case m := <-held:
				t.Errorf("the held server answered: %s", outcomeOf(m).show())
			default:
			}
			put(t, p.base+"/gate", "")
			if o := outcomeOf(h.await(held)); !o.says(`{"at":"last"}`) {
				t.Errorf("the server that is held no more: %s", o.show())
			}
		})
	}
}

// TestUpstreamHeldAgain checks that annotations are remembered: calls after one of a tool
// known to be read-only do not wait for its server.
func TestUpstreamHeldAgain(t *testing.T) {
	t.Parallel()
	settings := `{"permissions":{"allow":["mcp__held"]},"mcpServers":{"held":{"command":"$UPSTREAM","args":["-gate","$BASE/gate","-mark","$BASE/held"]}}}`
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			o := placeOptions{http: k.http, settings: settings, base: newBase(t), args: []string{"--deferral", "dispatch"}}
			put(t, o.base+"/gate", "")
			p := startPlace(t, o)
			connect(t, p, k.modern, nil).must("mcp__held__echo", `{}`)
			p.stop(t)
			if err := os.Remove(o.base + "/gate"); err != nil {
				t.Fatal(err)
			}
			p = startPlace(t, o)
			h := connect(t, p, k.modern, nil)
			if o := h.call("ToolSearch", `{"query":"select:mcp__held__echo"}`); !o.says("Answers with the arguments") {
				t.Errorf("what was known is not found: %s", o.show())
			}
			_, held := h.begin(direct, "mcp__held__readonly", `{}`)
			becomes(t, "the call has the server started", func() bool { return len(lines(t, o.base+"/held")) == 2 })
			for name, d := range doors {
				if o := h.ask(d, "Glob", `{"pattern":"*"}`); o.failed || o.fault != "" {
					t.Fatalf("behind it, by %s: %s", name, o.show())
				}
			}
			h.listed()
			select {
			case m := <-held:
				t.Errorf("the held server answered: %s", outcomeOf(m).show())
			default:
			}
			put(t, o.base+"/gate", "")
			if o := outcomeOf(h.await(held)); !o.says("readonly was called") {
				t.Errorf("the server that is held no more: %s", o.show())
			}
		})
	}
}

// TestUpstreamLazy checks that a server is not started until needed, even by a list that
// starts another server whose tools it shows. A search starts it.
func TestUpstreamLazy(t *testing.T) {
	t.Parallel()
	p := startPlace(t, placeOptions{settings: `{"mcpServers":{"lazy":{"command":"$UPSTREAM","args":["-mark","$BASE/lazy"]},
		"needed":{"command":"$UPSTREAM","args":["-mark","$BASE/needed"],"loading":"always"}}}`, args: []string{"--deferral", "dispatch"}})
	h := connect(t, p, false, nil)
	h.listed()
	h.must("Glob", `{"pattern":"*"}`)
	becomes(t, "the list starts a server whose tools it shows", func() bool { return there(p.base + "/needed") })
	if there(p.base + "/lazy") {
		t.Error("it was started by a list or by another tool")
	}
	// A search without matches waits for the server a short time, and then asks to search again.
	search := func() outcome { return h.call("ToolSearch", `{"query":"select:mcp__lazy__image"}`) }
	if o := search(); !o.says("Answers with a small picture") && !o.says("the server lazy is being connected; search again for its tools") {
		t.Errorf("the first search: %s", o.show())
	}
	becomes(t, "the search starts it", func() bool { return there(p.base + "/lazy") })
	becomes(t, "its tool is found", func() bool { return search().says("Answers with a small picture") })
}

// alive reports whether a process exists and is no zombie.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n)); err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(state, "Z")
	}
	return syscall.Kill(n, 0) == nil
}

// TestUpstreamEnd checks that no upstream server is left, however our server ends, even
// one that does not read its input.
func TestUpstreamEnd(t *testing.T) {
	t.Parallel()
	settings := `{"permissions":{"allow":["mcp__one","mcp__two"]},"mcpServers":{
		"one":{"command":"$UPSTREAM","args":["-mark","$BASE/pids"]},"two":{"command":"$UPSTREAM","args":["-legacy","-mark","$BASE/pids"]},
		"held":{"command":"$UPSTREAM","args":["-gate","$BASE/gate","-mark","$BASE/pids"],"eager":true},
		"shell":{"command":"/bin/sh","args":["-c","trap '' TERM INT HUP; echo $$ >>$BASE/pids; sleep 1000 & echo $! >>$BASE/pids; while :; do sleep 1000; done"],"eager":true}}}`
	ends := map[string]func(*place){
		"end of input": func(p *place) { _ = p.in.Close() },
		"SIGTERM":      func(p *place) { _ = p.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":       func(p *place) { _ = p.cmd.Process.Signal(syscall.SIGINT) },
		"SIGKILL":      func(p *place) { _ = p.cmd.Process.Signal(syscall.SIGKILL) },
	}
	for name, end := range ends {
		for _, http := range []bool{false, true} {
			if http && name == "end of input" {
				continue
			}
			t.Run(fmt.Sprintf("%s http %v", name, http), func(t *testing.T) {
				t.Parallel()
				p := startPlace(t, placeOptions{http: http, settings: settings, args: []string{"--drain", "200ms"}})
				h := connect(t, p, false, nil)
				h.must("mcp__one__pid", `{}`)
				h.must("mcp__two__pid", `{}`)
				h.begin(direct, "mcp__one__hang", `{"deaf":true}`)
				becomes(t, "all are started", func() bool { return len(lines(t, p.base+"/pids")) >= 5 })
				end(p)
				for _, pid := range lines(t, p.base+"/pids") {
					becomes(t, pid+" is gone", func() bool { return !alive(t, pid) })
				}
			})
		}
	}
}
