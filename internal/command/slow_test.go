//go:build slow && linux

package command

const churnCalls = 300

const commandsInARow = 1000
