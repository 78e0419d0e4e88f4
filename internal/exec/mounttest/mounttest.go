// Package mounttest runs tests that mount file systems in a mount namespace of their own.
// A mount or unmount in the namespace of all tests ends the watching of folders
// (see internal/search/watch) in every test that runs at the same time.
package mounttest

import "os"

// inside is set in the environment of a process with its own mount namespace.
const inside = "TEST_OWN_MOUNTS"

// Inside reports whether this process has its own mount namespace.
func Inside() bool { return os.Getenv(inside) != "" }
