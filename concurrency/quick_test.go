//go:build !slow

package concurrency

// seeds is how many random schedules each property test plays.
const seeds = 1000
