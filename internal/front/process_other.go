//go:build !linux

package front

import (
	"errors"
	"net"
	"os"
)

// Program says how the process of a workspace is started.
type Program struct {
	Args    func(*Spec) []string
	Environ []string
	Err     *os.File
}

var errSystem = errors.New("workspaces need Linux, where the kernel keeps the commands of users apart")

func (f *Front) run(*Spec) (process, error) { return nil, errSystem }

func owner(string) (func(*os.File) error, error) { return nil, errSystem }

func openPlain(string) (*os.File, error) { return nil, errSystem }

// Inherited is the listener of the process of a workspace.
type Inherited struct{ net.Listener }

// Inherit returns an error.
func Inherit(func()) (*Inherited, error) { return nil, errSystem }

// Ready returns an error.
func (l *Inherited) Ready() error { return errSystem }

// groups are control groups, which only Linux has.
type groups struct{}

func openGroups(string, string) (*groups, error) { return nil, errSystem }
