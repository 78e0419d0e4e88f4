package search

import "golang.org/x/sys/unix"

// nonblock prevents that opening blocks, should the file have become a FIFO.
const nonblock = unix.O_NONBLOCK
