package sandbox

import (
	"net"
	"os"
	"slices"
	"testing"
)

// tryAll runs the canaries in a tier, with targets of its own for each profile.
func tryAll(t *testing.T, at tier, j job) (Coverage, map[string]Canary) {
	t.Helper()
	s := newScratch(t)
	targets, done, err := NewTargets(s.outside)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	p := s.policy
	p.ReadOnly, p.Network, p.OwnNetwork = j.Policy.ReadOnly, j.Policy.Network, j.Policy.OwnNetwork
	j.Policy, j.Targets, j.Canaries = targets.Policy(p), targets, true
	res := j.run(t, at, s.root)
	out := map[string]Canary{}
	for _, c := range res.Canaries {
		out[c.Promise] = c
	}
	return res.Coverage, out
}

func TestCanariesSucceedUnconfined(t *testing.T) {
	t.Parallel()
	_, canaries := tryAll(t, plain, job{Free: true, Policy: Policy{OwnNetwork: true}})
	for name, c := range canaries {
		if c.Held && name != promiseWork {
			t.Errorf("%s cannot fail: %s", name, c.Detail)
		}
	}
	if len(canaries) != len(promises)+1 {
		t.Errorf("%d canaries for %d promises", len(canaries), len(promises))
	}
}

// TestCanaries checks that every canary holds, except those that Coverage reports
// as missing.
func TestCanaries(t *testing.T) {
	t.Parallel()
	for _, at := range tiers(t) {
		for _, readOnly := range []bool{false, true} {
			c, canaries := tryAll(t, at, job{Policy: Policy{ReadOnly: readOnly}})
			t.Logf("%s, read-only %v: %+v", at.name, readOnly, c)
			checkCoverage(t, at, c, canaries)
			if c.Landlock >= 6 && c.Seccomp && c.Mounts && len(c.Missing) > 0 {
				t.Errorf("%s: missing with all layers: %q", at.name, c.Missing)
			}
			if at != plain && !c.Mounts {
				t.Errorf("%s: no mounts: %q", at.name, c.Missing)
			}
		}
	}
}

// TestOwnNetwork checks that a network namespace keeps its promises, also without the
// other layers, and that nothing is confined if it is absent.
func TestOwnNetwork(t *testing.T) {
	t.Parallel()
	own := Policy{Network: true, OwnNetwork: true}
	for _, at := range tiers(t) {
		if at == plain && os.Getuid() != 0 {
			continue
		}
		for _, s := range []switches{{}, {NoLandlock: true, NoSeccomp: true}, {ABI: 5}} {
			c, canaries := tryAll(t, at, job{Policy: own, Switches: s, Network: true})
			for _, name := range []string{promiseNetwork, promiseAbstract} {
				if !canaries[name].Held || hasMissing(c, name) {
					t.Errorf("%s, %+v: %s: %+v, missing %q", at.name, s, name, canaries[name], c.Missing)
				}
			}
			if s == (switches{}) {
				checkCoverage(t, at, c, canaries)
			}
		}
		sc := newScratch(t)
		p := sc.policy
		p.Network, p.OwnNetwork = true, true
		if res := (job{Policy: p}).try(t, at, sc.root); res.Err != "sandbox: the command has no network of its own" {
			t.Errorf("%s: %+v", at.name, res)
		}
	}
}

// TestNameServices checks that only commands in the server's network reach the name
// services: with them, names could carry data out of any other.
func TestNameServices(t *testing.T) {
	for _, c := range []struct {
		p    Policy
		want bool
	}{
		{Policy{}, false}, {Policy{Network: true}, true}, {Policy{Network: true, ReadOnly: true}, false},
		{Policy{Network: true, OwnNetwork: true}, false},
	} {
		m := mounter{p: c.p}
		if got := len(m.nameServices()) > 0; got != c.want || c.p.resolves() != c.want {
			t.Errorf("%+v: %v", c.p, got)
		}
	}
}

// TestNetworkAttempts checks that each attempt on a network succeeds in that of the
// server, as far as it has routes.
func TestNetworkAttempts(t *testing.T) {
	targets, done, err := NewTargets(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := tryEcho(Policy{}, targets); err != nil {
		t.Error("no echo:", err)
	}
	all, err := net.InterfaceAddrs()
	if err != nil || !slices.ContainsFunc(all, func(a net.Addr) bool { ip, ok := a.(*net.IPNet); return ok && ip.IP.IsGlobalUnicast() }) {
		t.Skip("this machine has no network:", err)
	}
	if err := tryInterfaces(Policy{}, targets); err != nil {
		t.Error("no interface:", err)
	}
	if err := tryRoute("192.0.2.1:9")(Policy{}, targets); err != nil {
		t.Error("no route:", err)
	}
}

// checkCoverage compares the promises of the Coverage with the results of the
// canaries.
func checkCoverage(t *testing.T, at tier, c Coverage, canaries map[string]Canary) {
	t.Helper()
	for name, canary := range canaries {
		if canary.Held == hasMissing(c, name) {
			t.Errorf("%s: %s is held: %v (%s), and missing are %q", at.name, name, canary.Held, canary.Detail, c.Missing)
		}
	}
}

// TestCoverageOfFewerLayers checks that Coverage is right if a layer is turned off.
// Some promises that it lists as missing may hold by chance; the others must hold.
func TestCoverageOfFewerLayers(t *testing.T) {
	t.Parallel()
	for _, at := range tiers(t) {
		for name, s := range map[string]switches{
			"no Landlock": {NoLandlock: true}, "no seccomp": {NoSeccomp: true}, "no mounts": {NoMounts: true},
			"nothing": {NoLandlock: true, NoSeccomp: true, NoMounts: true}, "Landlock 1": {ABI: 1, NoMounts: true},
			"Landlock 3": {ABI: 3, NoMounts: true}, "Landlock 5": {ABI: 5, NoMounts: true},
		} {
			for _, readOnly := range []bool{false, true} {
				c, canaries := tryAll(t, at, job{Policy: Policy{ReadOnly: readOnly}, Switches: s})
				var lost []string
				for name, canary := range canaries {
					if !canary.Held && !hasMissing(c, name) {
						t.Errorf("%s, %s: %s is claimed and not held: %s", at.name, s, name, canary.Detail)
					}
					if !canary.Held {
						lost = append(lost, name)
					}
				}
				slices.Sort(lost)
				t.Logf("%s, %s, read-only %v: lost %q", at.name, name, readOnly, lost)
				if s.NoLandlock && s.NoSeccomp && s.NoMounts && len(lost) == 0 {
					t.Error("nothing is lost without any layer")
				}
				if c.Landlock > 0 == s.NoLandlock || c.Seccomp == s.NoSeccomp || c.Mounts && s.NoMounts {
					t.Errorf("%s: a layer that is off is claimed: %+v", name, c)
				}
			}
		}
	}
}

func (s switches) String() string {
	switch {
	case s.NoLandlock && s.NoSeccomp:
		return "nothing"
	case s.NoLandlock:
		return "no Landlock"
	case s.NoSeccomp:
		return "no seccomp"
	}
	return "fewer"
}

// TestElsewhere checks that tryElsewhere succeeds where nothing prevents it, and
// leaves no file.
func TestElsewhere(t *testing.T) {
	dir := t.TempDir()
	if err := tryElsewhere(Policy{}, Targets{Elsewhere: dir}); err != nil {
		t.Error("it cannot fail:", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	for _, p := range []Policy{{Write: []string{dir}}, {TempDir: dir}} {
		if tryElsewhere(p, Targets{Elsewhere: dir}) == nil {
			t.Errorf("tried in a folder that %+v makes writable", p)
		}
	}
}
