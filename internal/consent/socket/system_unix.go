//go:build unix

package socket

// offered is true because the mode of the folder excludes other users.
const offered = true
