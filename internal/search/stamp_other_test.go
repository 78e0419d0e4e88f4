//go:build !linux

package search

import "os"

func ctime(*os.File, string) int64 { return 0 }
