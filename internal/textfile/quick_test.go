//go:build !slow

package textfile

// Enough to catch what tends to break; the full count has the tag slow.
const randomEdits = 2000
