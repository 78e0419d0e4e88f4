//go:build !windows

package settings

// managedFile returns the settings file of the administrator of the machine.
func managedFile() string { return "/etc/mcp-toolset/managed.json" }
