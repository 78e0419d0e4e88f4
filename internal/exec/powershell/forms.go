package powershell

import (
	"slices"
	"strings"
)

// Limits of the analysis. A command beyond them is doubtful.
const (
	maxForms = 5000
	maxWords = 60 // words of one segment at which a candidate may begin
	maxBytes = 4 << 20
)

// launchers lists commands that run another command named in their arguments.
var launchers = strings.Fields(`powershell pwsh cmd command wsl bash sh invoke-expression iex invoke-command icm start-process saps start
	start-job sajb start-threadjob invoke-item ii foreach-object foreach where-object where % ? measure-command new-object add-type
	invoke-cimmethod icim invoke-wmimethod iwmi register-scheduledtask schtasks runas sudo gsudo ssh psexec forfiles wmic conhost rundll32 mshta
	wscript cscript set-alias sal new-alias nal invoke-history ihy r import-module ipmo trace-command invoke-webrequest env xargs npx`)

// launches reports whether a command runs another one that its arguments name.
func launches(name string) bool { return slices.Contains(launchers, baseName(name)) }

// baseName returns a command name in lower case, without folder or module and without
// the extension of a program.
func baseName(name string) string {
	name = strings.ToLower(name)
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	for _, ext := range []string{".exe", ".cmd", ".bat", ".com", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// groups maps each name of a cmdlet, its own and its aliases, to all of them.
var groups = func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(aliases) {
		names := strings.Fields(line)
		for _, name := range names {
			out[name] = names
		}
	}
	return out
}()

// spellings returns the texts by which rules may name a command.
func spellings(words []string) []string {
	rest := ""
	if len(words) > 1 {
		rest = " " + strings.Join(words[1:], " ")
	}
	base := baseName(words[0])
	names := append([]string{words[0], base}, groups[base]...)
	if strings.Trim(base, letters+"_-.") == "" {
		names = append(names, base+".exe")
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i := range names {
		names[i] += rest
	}
	return names
}

// plainer replaces characters that PowerShell treats like ASCII characters.
var plainer = strings.NewReplacer(
	"`\r\n", " ", "`\n", " ", "`", "",
	"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'", "\u201c", `"`, "\u201d", `"`, "\u201e", `"`,
	"\u2013", "-", "\u2014", "-", "\u2015", "-",
	"\u00a0", " ", "\u0085", " ", "\r", "\n", "\f", " ", "\v", " ",
)

// tooLong is the reason for doubt about a text beyond one of the limits.
const tooLong = "it is too long to be analysed"

// separators lists the characters that end a command outside of quotes.
const separators = ";|&\n(){}"

// candidates returns every text in a command that may be a command. It splits the text
// at separators, once with quotes removed and twice with quotes and further characters
// as separators. In each segment, a candidate begins at every word. It adds the words
// to names. doubtful is tooLong if a limit was exceeded, or otherwise doubt.
func candidates(text, doubt string, names *named) (forms []string, doubtful string) {
	seen, size := map[string]bool{}, 0
	full := func() bool { return len(forms) >= maxForms || size >= maxBytes }
	add := func(list []string) {
		for _, form := range list {
			if !seen[form] && !full() {
				seen[form] = true
				forms = append(forms, form)
				size += len(form)
			}
		}
	}
	text = plainer.Replace(text)
	add([]string{strings.TrimSpace(text)})
	if !names.add(quotedWords(text)) {
		doubt = tooLong
	}
	for _, split := range []string{separators, separators + `"'`, separators + "\"'=,<>$@#![]"} {
		clean := text
		if !strings.Contains(split, `"`) {
			clean = strings.NewReplacer(`"`, "", "'", "").Replace(text)
		}
		for _, segment := range strings.FieldsFunc(clean, func(r rune) bool { return strings.ContainsRune(split, r) }) {
			words := strings.Fields(segment)
			if !names.add(words) {
				doubt = tooLong
			}
			for i := range words {
				if i == maxWords || full() {
					doubt = tooLong
					break
				}
				add(spellings(words[i:]))
			}
		}
	}
	return forms, doubt
}

// incompleteReason returns why the candidates of a command may not include all that it runs. It
// returns "" if they do, as for literal words between separators.
func incompleteReason(text string, simple bool) string {
	switch {
	case simple:
		return "what it starts may run further commands"
	case strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) >= 0:
		return "it has characters that PowerShell may take for others"
	case strings.ContainsAny(text, "`$@[]{}%^*?<>#\r"):
		return "it has variables, escapes, wildcards, redirections, types or script blocks"
	}
	for _, segment := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";|&\n()", r) }) {
		words, ok := simpleSegment(segment)
		if !ok {
			return "a part of it is no command of literal words"
		}
		if len(words) > 0 && launches(words[0]) {
			return "what it starts may run further commands"
		}
	}
	return ""
}

// simpleSegment is simple for text between separators, which may be blank.
func simpleSegment(text string) ([]string, bool) {
	if strings.TrimSpace(text) == "" {
		return nil, true
	}
	return simple(text)
}

// aliases lists the aliases of PowerShell on Windows, one cmdlet per line, which is the
// first name.
const aliases = `remove-item ri rm rmdir rd del erase
get-content gc cat type
set-content sc
add-content ac
clear-content clc
get-childitem gci ls dir
copy-item cpi cp copy
move-item mi mv move
rename-item rni ren
new-item ni
set-item si
get-item gi
clear-item cli
invoke-item ii
set-location sl cd chdir
push-location pushd
pop-location popd
get-location gl pwd
invoke-webrequest iwr curl wget
invoke-restmethod irm
invoke-expression iex
invoke-command icm
start-process saps start
stop-process spps kill
get-process gps ps
start-service sasv
stop-service spsv
start-job sajb
remove-job rjb
set-alias sal
new-alias nal
import-module ipmo
remove-module rmo
foreach-object foreach %
where-object where ?
select-string sls
select-object select
sort-object sort
write-output write echo
tee-object tee
out-file
set-variable sv set
remove-variable rv
clear-variable clv
get-variable gv
remove-itemproperty rp
set-itemproperty sp
clear-itemproperty clp
copy-itemproperty cpp
move-itemproperty mp
rename-itemproperty rnp
enter-pssession etsn
new-pssession nsn
remove-pssession rsn
invoke-history ihy r
get-history h history ghy
clear-host cls clear
stop-computer
restart-computer
new-psdrive ndr mount
remove-psdrive rdr
get-help help man
get-command gcm
invoke-wmimethod iwmi
remove-wmiobject rwmi
set-wmiinstance swmi
`
