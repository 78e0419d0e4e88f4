//go:build slow

package index

const cases = 20000 // of the random test
