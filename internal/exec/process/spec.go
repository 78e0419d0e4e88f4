package process

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// errStuck is the error if the system does not end a process.
var errStuck = errors.New("something that the command started does not end: it hangs in the system")

func (spec *Spec) check() error {
	if len(spec.Args) == 0 || spec.Args[0] == "" {
		return errors.New("starting a command: there is no program")
	}
	if !filepath.IsAbs(spec.Dir) {
		return fmt.Errorf("starting a command: its folder %q is not an absolute path", spec.Dir)
	}
	if spec.Terminal != nil && (spec.Input == nil || spec.Errors != nil || spec.Confine == nil) {
		return errors.New("starting a command: a terminal needs an input and a confinement, and has no separate errors")
	}
	for _, list := range [][]string{spec.Args, spec.Env, {spec.Dir}} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return errors.New("starting a command: an argument, a variable or its folder has a NUL character")
			}
		}
	}
	return nil
}
