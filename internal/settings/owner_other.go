//go:build !unix

package settings

import "io/fs"

// hasOwners is false because access control lists determine who can write a file, and
// mode bits do not show them. A user's profile is private by default.
const hasOwners = false

const noFollow = 0

func rootOwns(fs.FileInfo) bool { return true }

func userOwns(fs.FileInfo) bool { return true }
