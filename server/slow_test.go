//go:build slow

package server

// burstRuns is how often TestBurstHalfCancelled runs its burst of each kind.
const burstRuns = 100

// endRuns is how often tests of an end with calls in flight run.
const endRuns = 50

// largeBody is the size of the bodies of TestManyLargeBodies.
const largeBody = maxBody
