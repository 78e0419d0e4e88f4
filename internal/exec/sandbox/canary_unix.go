//go:build linux || darwin

package sandbox

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// attempt does what a promise forbids. It returns nil on success and the error
// otherwise. It leaves no lasting effect.
type attempt func(p Policy, t Targets) error

// TryCanaries tries what each promise forbids, and operations that must succeed.
// This process must have applied the policy. If the network is allowed, TCP and UDP
// are not tried. The promise network is tried only of a network of its own.
func TryCanaries(p Policy, t Targets) []Canary {
	meaning := map[string]string{}
	for _, pr := range promises {
		meaning[pr.name] = pr.meaning
	}
	var out []Canary
	for _, a := range attempts {
		if p.online() && (a.promise == promiseTCP || a.promise == promiseUDP) {
			continue
		}
		if a.promise == promiseNetwork && !p.OwnNetwork {
			continue
		}
		c := Canary{Promise: a.promise, Meaning: meaning[a.promise], Held: len(a.try) > 0, Detail: "nothing was tried"}
		for _, try := range a.try {
			err := try(p, t)
			if err == nil {
				c.Held, c.Detail = false, "it was done"
				break
			}
			c.Detail = err.Error()
		}
		out = append(out, c)
	}
	work := Canary{Promise: promiseWork, Meaning: "files in the writable folders can be made, changed and removed", Held: true}
	if err := tryWork(p, t); err != nil {
		work.Held, work.Detail = false, err.Error()
	}
	return append(out, work)
}

func tryWork(p Policy, t Targets) error {
	folders := p.writable()
	if len(folders) == 0 {
		return nil
	}
	for _, folder := range folders {
		if slices.Contains(p.layered(), folder) {
			_ = os.WriteFile(folder+"/layered", nil, 0o600) // the server looks for it
			continue
		}
		if st, err := os.Stat(folder); err != nil || !st.IsDir() {
			continue
		}
		f, err := os.CreateTemp(folder, ".canary-")
		if err != nil {
			return err
		}
		_, err = f.WriteString("canary\n")
		if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
			return err
		}
	}
	if p.ReadOnly {
		return readSome(t.Inside + "/free")
	}
	return os.WriteFile(t.Inside+"/free", []byte("canary\n"), 0o600)
}

func tryCreate(_ Policy, t Targets) error {
	path := t.Outside + "/new"
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return os.Remove(path)
}

func tryOverwrite(_ Policy, t Targets) error {
	return os.WriteFile(t.Outside+"/file", []byte("canary\n"), 0o600)
}

func tryTruncate(_ Policy, t Targets) error {
	return os.Truncate(t.Outside+"/file", int64(len("canary\n")))
}

func tryRename(_ Policy, t Targets) error {
	from, to := t.Outside+"/file", t.Outside+"/renamed"
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.Rename(to, from)
}

func tryChmod(_ Policy, t Targets) error { return os.Chmod(t.Outside+"/file", 0o600) }

func tryChown(_ Policy, t Targets) error {
	return os.Lchown(t.Outside+"/file", os.Getuid(), os.Getgid())
}

func tryTimes(_ Policy, t Targets) error {
	now := time.Now()
	return os.Chtimes(t.Outside+"/file", now, now)
}

func tryProtected(_ Policy, t Targets) error {
	return os.WriteFile(t.Inside+"/protected", []byte("canary\n"), 0o600)
}

func tryReplace(_ Policy, t Targets) error {
	from, to := t.Inside+"/protected", t.Inside+"/renamed"
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.Rename(to, from)
}

// tryProtectedLink changes the protected file by another name.
func tryProtectedLink(_ Policy, t Targets) error {
	path := t.Inside + "/linked"
	if err := os.Link(t.Inside+"/protected", path); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, []byte("canary\n"), 0o600), os.Remove(path))
}

func tryHidden(_ Policy, t Targets) error { return readSome(t.Inside + "/hidden") }

// tryHiddenMove reads a hidden file after a move of the folder that holds it.
func tryHiddenMove(_ Policy, t Targets) error {
	from, to := filepath.Dir(t.deep()), t.Inside+"/moved"
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(readSome(filepath.Join(to, filepath.Base(t.deep()))), os.Rename(to, from))
}

func tryHiddenLink(_ Policy, t Targets) error {
	path := t.Inside + "/linked"
	if err := os.Link(t.Inside+"/hidden", path); err != nil {
		return err
	}
	return errors.Join(readSome(path), os.Remove(path))
}

func tryRead(_ Policy, t Targets) error { return readSome(t.Outside + "/file") }
func tryTCP(_ Policy, t Targets) error  { return dial("tcp", t.TCP) }
func tryUDP(_ Policy, t Targets) error  { return dial("udp", t.UDP) }
func tryUnix(_ Policy, t Targets) error { return dial("unix", t.Socket()) }

func readSome(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		return errors.New("it is empty")
	}
	return err
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("canary"))
	return err
}
