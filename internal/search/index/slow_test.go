//go:build slow

package index

// cases is how many the random test has, steps those of the store.
const cases, steps = 20000, 80000
