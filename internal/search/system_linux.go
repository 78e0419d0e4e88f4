package search

import "golang.org/x/sys/unix"

// nonblock keeps opening from waiting, should the file have become a FIFO.
const nonblock = unix.O_NONBLOCK
