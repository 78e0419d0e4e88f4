//go:build !slow

package index

const cases = 1000 // of the random test
