//go:build !slow && linux

package command

const commandsInARow = 200
