//go:build !slow

package server

// burstRuns is how often TestBurstHalfCancelled runs its burst of each kind.
const burstRuns = 10
