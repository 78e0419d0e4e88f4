//go:build slow

package e2e

// killedWrites is how many writes TestKilledWrites tries to kill.
const killedWrites = 200

// manyTasks is how many tasks TestStopMany stops.
const manyTasks = 50

// muchOutput is how much the commands of TestMuchOutput print at least, in bytes.
const muchOutput = 300_000_000

// sharedCalls is how many calls each client of TestReadsAreExplained makes.
const sharedCalls = 500
