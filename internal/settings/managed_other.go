//go:build !windows

package settings

// managedFile returns the path of the settings file of the machine's administrator.
func managedFile() string { return "/etc/mcp-toolset/managed.json" }
