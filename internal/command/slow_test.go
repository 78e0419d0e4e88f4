//go:build slow && linux

package command

const churnCalls = 1500

const commandsInARow = 1000
