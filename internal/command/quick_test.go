//go:build !slow && linux

package command

const churnCalls = 40

const commandsInARow = 100
