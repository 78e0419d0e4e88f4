//go:build slow

package notebook

// largeSize is the size of the notebooks of TestMemory, in bytes.
const largeSize = 16 << 20

// editCount is the number of random edits of TestEditProperty.
const editCount = 50_000
