package command

import "strings"

// gitBashVariable is the variable by which the user names bash.exe of Git for Windows
// if the search does not find it.
const gitBashVariable = "CLAUDE_CODE_GIT_BASH_PATH"

// machine holds the facts that the choice of a shell on Windows depends on.
type machine struct {
	variable func(name string) string
	exists   func(file string) bool
	git      []string // folders of Git according to the registry
	path     []string // folders of PATH except those that commands may write to
}

// shell returns the bash of Git for Windows, or else PowerShell 7, or else Windows
// PowerShell; "" if there is none of them. It never returns a launcher of WSL, also
// called bash.exe, which runs commands on another system.
func (m machine) shell() string {
	var files []string
	if file := m.variable(gitBashVariable); strings.HasSuffix(strings.ToLower(file), `bash.exe`) {
		files = append(files, file)
	}
	for _, folder := range m.git {
		files = append(files, join(folder, `bin\bash.exe`))
	}
	for _, name := range []string{"ProgramFiles", "ProgramW6432", "ProgramFiles(x86)"} {
		files = append(files, join(m.variable(name), `Git\bin\bash.exe`))
	}
	files = append(files, join(m.variable("LocalAppData"), `Programs\Git\bin\bash.exe`))
	for _, folder := range m.path {
		if m.exists(join(folder, "git.exe")) { // in Git\cmd, Git\bin or Git\mingw64\bin
			files = append(files, join(folder, `..\bin\bash.exe`), join(folder, `..\..\bin\bash.exe`))
		}
	}
	for _, folder := range m.path {
		files = append(files, join(folder, "bash.exe"))
	}
	for _, name := range []string{"ProgramFiles", "ProgramW6432"} {
		files = append(files, join(m.variable(name), `PowerShell\7\pwsh.exe`))
	}
	for _, folder := range m.path {
		files = append(files, join(folder, "pwsh.exe"))
	}
	root := m.variable("SystemRoot")
	files = append(files, join(root, `System32\WindowsPowerShell\v1.0\powershell.exe`))
	for _, file := range files {
		if absolute(file) && !m.launcher(file) && m.exists(file) {
			return file
		}
	}
	return ""
}

// launcher reports whether a file is the bash.exe of WSL.
func (m machine) launcher(file string) bool {
	file = strings.ToLower(strings.ReplaceAll(file, "/", `\`))
	if !strings.HasSuffix(file, `\bash.exe`) {
		return false
	}
	if strings.Contains(file, `\windowsapps\`) {
		return true
	}
	root := strings.ToLower(m.variable("SystemRoot"))
	return root != "" && strings.HasPrefix(file, strings.TrimRight(root, `\`)+`\`)
}

// join returns the path of a file below a Windows folder, or "" if folder is "" or name
// leaves its drive.
func join(folder, name string) string {
	if folder == "" {
		return ""
	}
	folder = strings.TrimRight(strings.ReplaceAll(folder, "/", `\`), `\`)
	for strings.HasPrefix(name, `..\`) {
		i := strings.LastIndexByte(folder, '\\')
		if i < 0 {
			return ""
		}
		folder, name = folder[:i], name[len(`..\`):]
	}
	return folder + `\` + name
}

// absolute reports whether a path begins with a drive and a separator.
func absolute(file string) bool {
	return len(file) > 3 && file[1] == ':' && (file[2] == '\\' || file[2] == '/')
}
