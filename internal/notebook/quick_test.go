//go:build !slow

package notebook

// largeSize is the size of the notebooks of TestMemory, in bytes.
const largeSize = 2 << 20
