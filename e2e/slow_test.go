//go:build slow

package e2e

// killedWrites is how many writes TestKilledWrites tries to kill.
const killedWrites = 200
