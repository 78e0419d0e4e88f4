//go:build !slow

package sandbox

const everyTier = false
