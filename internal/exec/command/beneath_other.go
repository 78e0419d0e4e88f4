//go:build !linux && !darwin

package command

import (
	"errors"
	"os"
)

// spot is a placeholder: on this system no command is confined and nothing is
// protected.
type spot struct{}

func openParent(string, string) (*spot, error) { return nil, errors.ErrUnsupported }
func (*spot) close()                           {}
func (*spot) look() (facts, error)             { return facts{}, errors.ErrUnsupported }
func lookAt(string) (facts, error)             { return facts{}, errors.ErrUnsupported }
func (*spot) open() (*os.File, error)          { return nil, errors.ErrUnsupported }
func in(*os.File, string) *spot                { return &spot{} }
func (*spot) create() error                    { return errors.ErrUnsupported }
func (*spot) unlink() error                    { return errors.ErrUnsupported }
func (*spot) replace([]byte) error             { return errors.ErrUnsupported }
func (*spot) overwrite([]byte) error           { return errors.ErrUnsupported }
func (s *spot) beside(string) *spot            { return s }
func (*spot) mkdir() error                     { return errors.ErrUnsupported }
func (*spot) link(string) error                { return errors.ErrUnsupported }
func (*spot) moveTo(string) error              { return errors.ErrUnsupported }
func (*spot) remove() error                    { return errors.ErrUnsupported }
func (*spot) alone() error                     { return errors.ErrUnsupported }
func stampOf(*os.File) (stamp, bool)           { return stamp{}, false }
func stampAt(string) (stamp, bool)             { return stamp{}, false }
func openFolder(path string) (*os.File, error) { return os.Open(path) }
