//go:build unix && !slow

package e2e

// thorough says that the corpus is read in full.
const thorough = false
