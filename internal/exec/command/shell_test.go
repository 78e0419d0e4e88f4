package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFindShellOnWindows(t *testing.T) {
	const (
		bash       = `C:\Program Files\Git\bin\bash.exe`
		wsl        = `C:\Windows\System32\bash.exe`
		store      = `C:\Users\u\AppData\Local\Microsoft\WindowsApps\bash.exe`
		pwsh       = `C:\Program Files\PowerShell\7\pwsh.exe`
		powershell = `C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe`
	)
	for name, tc := range map[string]struct {
		variables map[string]string
		files     []string
		git, path []string
		want      string
	}{
		"Git Bash":                {nil, []string{bash, wsl, pwsh, powershell}, nil, nil, bash},
		"by the variable":         {map[string]string{gitBashVariable: `D:\g\bin\bash.exe`}, []string{bash, `D:\g\bin\bash.exe`}, nil, nil, `D:\g\bin\bash.exe`},
		"a variable of slashes":   {map[string]string{gitBashVariable: `D:/g/bin/bash.exe`}, []string{`D:/g/bin/bash.exe`}, nil, nil, `D:/g/bin/bash.exe`},
		"a variable that is gone": {map[string]string{gitBashVariable: `D:\g\bin\bash.exe`}, []string{bash}, nil, nil, bash},
		"a variable of WSL":       {map[string]string{gitBashVariable: wsl}, []string{wsl, powershell}, nil, nil, powershell},
		"a variable of WSL, case": {map[string]string{gitBashVariable: `c:/windows/system32/BASH.EXE`}, []string{`c:/windows/system32/BASH.EXE`, powershell}, nil, nil, powershell},
		"a variable of no bash":   {map[string]string{gitBashVariable: `C:\x\evil.exe`}, []string{`C:\x\evil.exe`, powershell}, nil, nil, powershell},
		"a relative variable":     {map[string]string{gitBashVariable: `bin\bash.exe`}, []string{`bin\bash.exe`, powershell}, nil, nil, powershell},
		"by the registry":         {nil, []string{`E:\Git\bin\bash.exe`, powershell}, []string{`E:\Git\`}, nil, `E:\Git\bin\bash.exe`},
		"of one user":             {nil, []string{`C:\Users\u\AppData\Local\Programs\Git\bin\bash.exe`}, nil, nil, `C:\Users\u\AppData\Local\Programs\Git\bin\bash.exe`},
		"by git in PATH":          {nil, []string{`D:\Git\cmd\git.exe`, `D:\Git\bin\bash.exe`, pwsh}, nil, []string{`D:\Git\cmd`}, `D:\Git\bin\bash.exe`},
		"by git of MinGW":         {nil, []string{`D:\Git\mingw64\bin\git.exe`, `D:\Git\bin\bash.exe`}, nil, []string{`D:\Git\mingw64\bin\`}, `D:\Git\bin\bash.exe`},
		"in PATH":                 {nil, []string{wsl, `D:\msys64\usr\bin\bash.exe`}, nil, []string{`C:\Windows\System32`, `D:\msys64\usr\bin`}, `D:\msys64\usr\bin\bash.exe`},
		"only WSL":                {nil, []string{wsl, store, powershell}, nil, []string{`C:\Windows\system32`, `C:\Users\u\AppData\Local\Microsoft\WindowsApps`}, powershell},
		"Sysnative":               {nil, []string{`C:\Windows\Sysnative\bash.exe`, powershell}, nil, []string{`C:\Windows\Sysnative`}, powershell},
		"PowerShell 7":            {nil, []string{pwsh, powershell}, nil, nil, pwsh},
		"PowerShell 7 in PATH":    {nil, []string{`D:\ps\pwsh.exe`, powershell}, nil, []string{`D:\ps`}, `D:\ps\pwsh.exe`},
		"Windows PowerShell":      {nil, []string{powershell}, nil, nil, powershell},
		"nothing":                 {nil, nil, nil, []string{`C:\Windows\System32`}, ""},
	} {
		variables := map[string]string{"ProgramFiles": `C:\Program Files`, "LocalAppData": `C:\Users\u\AppData\Local`, "SystemRoot": `C:\Windows`}
		for k, v := range tc.variables {
			variables[k] = v
		}
		m := machine{
			variable: func(name string) string { return variables[name] }, git: tc.git, path: tc.path,
			exists: func(file string) bool {
				return slices.ContainsFunc(tc.files, func(f string) bool { return strings.EqualFold(f, file) })
			},
		}
		if got := m.shell(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestLanguage(t *testing.T) {
	for shell, want := range map[string]Language{
		"/bin/bash": Bash, "/bin/sh": Posix, "/usr/bin/dash": Posix, "": Posix, `C:\Program Files\Git\bin\bash.exe`: Bash, `C:\x\BASH.EXE`: Bash,
		`C:\Program Files\PowerShell\7\pwsh.exe`: PowerShell, "/usr/bin/pwsh": PowerShell, "C:/Windows/System32/WindowsPowerShell/v1.0/PowerShell.exe": PowerShell,
	} {
		if got := languageOf(shell); got != want {
			t.Errorf("%s: %v, want %v", shell, got, want)
		}
	}
}

// TestPosixFile runs scripts from a file, as on Windows.
func TestPosixFile(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for script, want := range map[string]struct {
		output string
		code   int
	}{
		`echo "a b" 'c"d' \$HOME`:                {"a b c\"d $HOME\n", 0},
		"echo it's":                              {"", 2},
		"exit 7":                                 {"", 7},
		"false":                                  {"", 1},
		"cat <<'E'\n$(x)`'\"\\\nE":               {"$(x)`'\"\\\n", 0},
		"cd sub; echo \"[$MCP_TOOLSET_SCRIPT]\"": {"[]\n", 0},
		"echo $# \"$@\"; cat":                    {"0\n", 0},
	} {
		dir := t.TempDir()
		sub := filepath.Join(dir, "sub")
		marker := filepath.Join(dir, "it's a marker")
		if err := errors.Join(os.Mkdir(sub, 0o700), os.WriteFile(marker, nil, 0o600), os.WriteFile(marker+scriptExt, []byte(posixFile(script, marker)), 0o600)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bash, append(slices.Clone(shellOptions), "-c", `. "$`+scriptVariable+`"`)...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), scriptVariable + "=" + marker + scriptExt}
		out, _ := cmd.Output()
		if string(out) != want.output || cmd.ProcessState.ExitCode() != want.code {
			t.Errorf("%s: %q and %d, want %q and %d", script, out, cmd.ProcessState.ExitCode(), want.output, want.code)
		}
		stands, err := os.ReadFile(marker)
		if at := strings.TrimSuffix(string(stands), "\n"); err != nil || at != dir && at != sub || strings.HasPrefix(script, "cd") && at != sub {
			t.Errorf("%s: it ended in %q, %v", script, stands, err)
		}
	}
}

// TestPowerShellLaunch checks that no part of a command is on the command line of
// PowerShell, and that the arguments there need no quotes.
func TestPowerShellLaunch(t *testing.T) {
	c := &Commands{shell: "/opt/pwsh"}
	marker := filepath.Join(t.TempDir(), "marker")
	const script = "Write-Output \"ä\"\n'"
	args, variable, err := c.launch(script, marker)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/opt/pwsh", "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", powerShellLoader}; !slices.Equal(args, want) {
		t.Errorf("%q", args)
	}
	if strings.ContainsAny(powerShellLoader, "\"") || len(powerShellLoader) > 8000 {
		t.Error("the loader cannot be an argument")
	}
	file, ok := strings.CutPrefix(variable, scriptVariable+"=")
	if text, err := os.ReadFile(file); !ok || err != nil || string(text) != script {
		t.Errorf("%s: %q, %v", variable, text, err)
	}
	if file != filepath.ToSlash(marker+scriptExt) || scriptExtLength != "4" || len(scriptExt) != 4 {
		t.Error("the loader does not find the marker by the name of the script")
	}
}
