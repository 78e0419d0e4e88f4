//go:build !unix

package settings

import "io/fs"

// hasOwners: access control lists say who can write a file, which mode bits do
// not show. A user's profile is private by default.
const hasOwners = false

const noFollow = 0

func rootOwns(fs.FileInfo) bool { return true }

func userOwns(fs.FileInfo) bool { return true }
