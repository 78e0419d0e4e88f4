//go:build !unix

package audit

import (
	"io/fs"
	"os"
)

// openFlags is 0, because package os has no flags for links here.
const openFlags = 0

// othersWrite returns false: without owners in the mode bits, the folder's
// access control list limits access.
func othersWrite(fs.FileInfo) bool { return false }

func isWorldWritable(fs.FileInfo) bool { return false }

func syncFolder(string) {}

func checkSpace(*os.File, uint64) error { return nil }
