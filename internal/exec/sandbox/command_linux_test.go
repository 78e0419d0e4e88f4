package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
)

// step is a script and whether it must succeed. Each script that must fail has a
// similar one that must succeed.
type step struct {
	script string
	works  bool
	tiers  string // "mounts": run only where there are mounts
}

func (s scratch) steps(t *testing.T, at tier, p Policy, steps []step) {
	t.Helper()
	for _, st := range steps {
		if st.tiers == "mounts" && at == plain {
			continue
		}
		res := s.bash(t, at, p, st.script)
		if (res.code == 0) != st.works {
			t.Errorf("%s, read-only %v: %s: exit %d, want success %v\n%s", at.name, p.ReadOnly, st.script, res.code, st.works, res.out)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, at := range tiers(t) {
		s := newScratch(t)
		write(t, s.outside+"/file", "outside\n")
		write(t, s.root+"/file", "inside\n")
		write(t, s.home+"/.ssh/id_rsa", "private\n")
		write(t, s.home+"/.config/gh/hosts.yml", "token\n")
		write(t, s.home+"/.config/git/config", "[user]\n")
		write(t, s.home+"/.docker/config.json", "token\n")
		write(t, s.home+"/.docker/daemon.json", "{}\n")
		write(t, s.home+"/notes/today", "text\n")
		s.policy.Read, s.policy.Hide = Readable(s.home, nil)
		s.policy.Hide = existing(s.policy.Hide)
		o := s.outside
		s.steps(t, at, s.policy, []step{
			{"echo x > new && mkdir d && mv new d/ && ln d/new d/hard && ln -s new d/soft && rm -r d", true, ""},
			{"echo x > " + o + "/new", false, ""},
			{"echo x >> " + o + "/file", false, ""},
			{"rm " + o + "/file", false, ""},
			{"mv " + o + "/file taken", false, ""},
			{"ln " + o + "/file hard", false, ""},
			{"ln -s " + o + " out; echo x > out/new", false, ""},
			{"chmod 600 file && touch -d 2001-01-01 file", true, ""},
			{"chmod 600 " + o + "/file", false, "mounts"},
			{"touch -d 2001-01-01 " + o + "/file", false, "mounts"},
			{"cat " + o + "/file", false, ""},
			{"cd " + o + " && cat file", false, ""},
			{"[ ${PWD#/tmp} != $PWD ] || cd " + o, true, ""}, // all of /tmp is masked
			{"cat ~/.ssh/id_rsa", false, ""},
			{"cat ~/.config/gh/hosts.yml", false, ""},
			{"cat ~/.docker/config.json", false, ""},
			{"cat ~/notes/today ~/.config/git/config ~/.docker/daemon.json", true, ""},
			{"echo x > ~/notes/new", false, ""},
			{"echo x > /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom >/dev/null", true, ""},
			{"cat <<E >file2\n$(seq 100000)\nE\nsort -S 1M -r file2 | tail -1 && mkfifo p && (echo x > p &) && cat p", true, ""},
			{"t=$(mktemp) && echo x > $t && rm $t", true, ""},
			{"sleep 100 & kill $!; wait $!; [ $? = 143 ]", true, ""},
			{"diff <(echo a) <(echo a)", true, ""},
			{"mount -t tmpfs none d", false, ""},
			{"unshare -U true", false, ""},
			{"[ $(id -u) = " + fmt.Sprint(os.Getuid()) + " ]", true, ""},
			{"grep -q '^CapEff:\t0000000000000000' /proc/self/status && grep -q '^CapPrm:\t0000000000000000' /proc/self/status && grep -q '^NoNewPrivs:\t1' /proc/self/status && grep -q '^Seccomp:\t2' /proc/self/status", true, ""},
			{"grep -q '^CapBnd:\t0000000000000000' /proc/self/status && grep -q '^CapAmb:\t0000000000000000' /proc/self/status", true, "mounts"},
			{"timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/1'", false, ""},
		})
		s.steps(t, at, s.readOnly(), []step{
			{"cat file ~/notes/today && ls -la . | sort | head -3 >/dev/null", true, ""},
			{"echo x > $TMPDIR/t && cat $TMPDIR/t && rm $TMPDIR/t", true, ""},
			{"echo x > new", false, ""},
			{"rm file", false, ""},
			{"chmod 600 file", false, ""},
			{"touch file", false, ""},
			{"cat ~/.ssh/id_rsa", false, ""},
			{"seq 300000 | sort -S 1M -r | tail -1", true, ""},
			{"cat <<E\n$(seq 100000)\nE", true, ""},
		})
		if got := content(t, s.outside+"/file"); got != "outside\n" {
			t.Errorf("outside is %q", got)
		}
	}
}

func (s scratch) readOnly() Policy {
	p := s.policy
	p.ReadOnly = true
	return p
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	script := "exec 3<>/dev/tcp/127.0.0.1/" + port
	for _, at := range tiers(t) {
		s := newScratch(t)
		p := s.policy
		s.steps(t, at, p, []step{{script, false, ""}})
		p.Network = true
		s.steps(t, at, p, []step{{script, true, ""}})
		p.ReadOnly = true
		s.steps(t, at, p, []step{{script, false, ""}})
	}
}

// TestSetuid checks that no call can leave a setuid or setgid program of this user,
// while other modes can be set.
func TestSetuid(t *testing.T) {
	t.Parallel()
	for _, at := range tiers(t) {
		s := newScratch(t)
		write(t, s.root+"/prog", "#!/bin/sh\n")
		s.steps(t, at, s.policy, []step{
			{"chmod 755 prog && chmod 1777 . && chmod 700 . && install -m 755 prog p2 && mkdir -m 755 d && cp -a prog p3 && mkfifo f", true, ""},
			{"chmod 4755 prog", false, ""},
			{"chmod u+s prog", false, ""},
			{"chmod 2755 prog", false, ""},
			{"chmod g+s d", false, ""},
			{"install -m 4755 prog p4", false, ""},
			{"mkdir -m 2755 d2", false, ""},
			{"find . -perm /6000 | grep .", false, ""},
		})
		s.steps(t, at, s.readOnly(), []step{
			{"cp prog $TMPDIR/p && chmod 4755 $TMPDIR/p", false, ""},
			{"find $TMPDIR -perm /6000 | grep .", false, ""},
		})
	}
}

// TestTracer checks that a debugger can trace its own children, and no other
// process.
func TestTracer(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace here")
	}
	for _, at := range tiers(t) {
		s := newScratch(t)
		s.steps(t, at, s.policy, []step{{"strace -o t true && rm t", true, ""}})
		s.steps(t, at, s.readOnly(), []step{{"strace -o /dev/null true", false, ""}})
	}
}
