//go:build slow

package textfile

const randomEdits = 10_000
