//go:build race

package page

// slowness is how many times longer the race detector and a busy machine may make a page take.
const slowness = 10
