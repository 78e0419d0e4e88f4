package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// onWindows is true on Windows. There, names of variables and paths ignore case, and a
// shell gets its script from a file, since programs parse their arguments in different
// ways.
const onWindows = runtime.GOOS == "windows"

// Language is the language of a shell.
type Language int

// The languages.
const (
	Posix      Language = iota // sh
	Bash                       // bash
	PowerShell                 // pwsh or powershell.exe
)

// languageOf returns the language of a shell, derived from the name of its program.
func languageOf(shell string) Language {
	name := strings.ToLower(shell[strings.LastIndexAny(shell, `/\`)+1:])
	switch name = strings.TrimSuffix(name, ".exe"); {
	case strings.HasPrefix(name, "bash"):
		return Bash
	case strings.HasPrefix(name, "pwsh"), strings.HasPrefix(name, "powershell"):
		return PowerShell
	}
	return Posix
}

// Language returns the language of the shell.
func (c *Commands) Language() Language { return languageOf(c.shell) }

// scriptVariable is the variable that holds the path of the script file for a shell.
const scriptVariable = "MCP_TOOLSET_SCRIPT"

// scriptExt is the extension that turns the name of the marker into that of the script
// file.
const scriptExt = ".run"

// launch returns the arguments of the shell for a script and a variable that the shell
// needs; "" if it needs none. It may write the script to a file next to the marker.
func (c *Commands) launch(script, marker string) (args []string, variable string, err error) {
	language := c.Language()
	if language != PowerShell && !onWindows && !c.findsItself(script) {
		return c.arguments(script, marker), "", nil
	}
	file := marker + scriptExt
	if language != PowerShell && !onWindows {
		args = c.arguments(script, marker)
	} else if language == PowerShell {
		args = []string{c.shell, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", powerShellLoader}
	} else {
		args = []string{c.shell}
		if language == Bash {
			args = append(args, shellOptions...)
		}
		args = append(args, "-c", `. "$`+scriptVariable+`"`)
		script = posixFile(script, marker)
	}
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return nil, "", fmt.Errorf("storing a command for its shell: %w", err)
	}
	return args, scriptVariable + "=" + filepath.ToSlash(file), nil
}

// findsItself reports whether a script may look for processes by their arguments. Then it is not an
// argument of its shell, which pkill -f would end.
func (c *Commands) findsItself(script string) bool {
	return strings.Contains(script, "pkill") || strings.Contains(script, "pgrep")
}

// posixFile returns a script for the bash of Git for Windows, in which pwd -W prints a
// path as Windows spells it.
func posixFile(script, marker string) string {
	trap := "{ pwd -W || pwd -P; } >|" + quote(filepath.ToSlash(marker)) + " 2>/dev/null"
	return "unset " + scriptVariable + "\ntrap " + quote(trap) + " EXIT\n__=" + quote(script) + "; eval \"$__\"\n"
}

// powerShellLoader runs the script in a file. It uses UTF-8 whatever the code page is,
// and no execution policy, which is meant for script files that users open. The exit
// code is that of exit, or otherwise of the last statement, as in bash. Windows
// PowerShell treats a program that prints to redirected stderr as failed; for those the
// exit code of the program counts. The loader contains no double quote, so that the
// command line passes it unchanged.
const powerShellLoader = `$ProgressPreference = 'SilentlyContinue'
try { $OutputEncoding = [Console]::InputEncoding = [Console]::OutputEncoding = New-Object Text.UTF8Encoding $false } catch {}
if ($null -ne $PSStyle) { $PSStyle.OutputRendering = 'PlainText' }
$__file = $env:` + scriptVariable + `
Remove-Item Env:` + scriptVariable + `
$__text = [IO.File]::ReadAllText($__file, [Text.Encoding]::UTF8)
$__code = 1
try {
  $__run = [ScriptBlock]::Create($__text)
  try { $__run = [ScriptBlock]::Create($__text + [Environment]::NewLine + [Environment]::NewLine + '$__ok = $?') } catch {}
  $__ok = $true
  $Error.Clear()
  $global:LASTEXITCODE = $null
  . $__run
  if ($__ok) { $__code = 0 }
  elseif ($LASTEXITCODE) { $__code = $LASTEXITCODE }
  elseif (($null -ne $LASTEXITCODE) -and $Error.Count -and ($Error[0].FullyQualifiedErrorId -like 'NativeCommandError*')) { $__code = 0 }
} finally {
  try {
    $__out = [IO.File]::Open($__file.Substring(0, $__file.Length - ` + scriptExtLength + `), 'Truncate', 'Write', 'ReadWrite')
    $__dir = [Text.Encoding]::UTF8.GetBytes((Get-Location -PSProvider FileSystem).ProviderPath)
    $__out.Write($__dir, 0, $__dir.Length)
    $__out.Dispose()
  } catch {}
}
exit $__code`

const scriptExtLength = "4"

// ErrNoShell is the error of Start on a machine without a shell.
var ErrNoShell = errors.New(noShell())

func noShell() string {
	if onWindows {
		return "there is no shell on this machine: neither Git Bash nor PowerShell was found; install Git for Windows, or set " + gitBashVariable + " to its bash.exe"
	}
	return "there is no shell on this machine: neither bash nor sh was found"
}
