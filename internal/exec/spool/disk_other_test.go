//go:build !linux

package spool

// smallArg is an argument for Linux only.
const smallArg = "be-on-small-disk"

func beOnSmallDisk(string) int { return 2 }
