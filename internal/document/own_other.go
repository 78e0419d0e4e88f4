//go:build !unix

package document

import "os"

// own returns f: no start was seen to hang here.
func own(f *os.File) (*os.File, error) { return f, nil }
