//go:build !linux

package spool

import "os"

func enlarge(*os.File) {}

// bytesWaiting is the request for the number of bytes in a pipe, FIONREAD of BSD.
const bytesWaiting = 0x4004667f
