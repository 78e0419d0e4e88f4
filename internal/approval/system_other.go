//go:build !unix

package approval

import "io/fs"

// offered: sockets have no permissions here, so any user could approve.
const offered = false

const maxSocketPath = 0

// othersWrite: there are access control lists instead, by which a user's
// profile is private.
func othersWrite(fs.FileInfo) bool { return false }

func syncFolder(string) error { return nil }
