package bash

import (
	"encoding/json"
	"strings"
	"testing"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// powerShellScene returns a scene whose tool is PowerShell.
func powerShellScene(t *testing.T, mode policy.Mode, rules ...entry) *scene {
	s := at(t, "/ws")
	s.mode, s.closed, s.guarded = mode, []string{"/closed"}, []string{"/my cfg/set.json"}
	s.set(t, rules...)
	return s
}

func (s *scene) decidePowerShell(t *testing.T, cmd string) policy.Decision {
	t.Helper()
	tool := newPowerShell(Options{Commands: s.commands}.withDefaults())
	args, err := json.Marshal(map[string]string{"command": cmd})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tool.Parse(args)
	if err != nil {
		t.Fatalf("%q: %v", cmd, err)
	}
	resolved := toolstest.Prepare(t, c, s.env())
	if resolved.Facts.ReadOnly {
		t.Errorf("%q only reads", cmd)
	}
	own := askPowerShell(judgePowerShell(s.env(), cmd))
	return s.policy.Decide(policy.Request{Tool: tool.Name, Dir: s.ws, Parts: complete(t, resolved.Parts(s.env())), Own: own})
}

func TestPowerShellDecisions(t *testing.T) {
	for _, block := range []struct {
		mode  policy.Mode
		rules []entry
		want  map[string]string
	}{
		{"", nil, map[string]string{"git status": "ask:tool", "Get-Content a.txt": "ask:tool", "git status; x": "ask:tool", "Get-Content C:/x": "ask:tool"}},
		{"", []entry{{"allow", "PowerShell(git status)"}, {"allow", "PowerShell(npm run *)"}, {"allow", "Bash(make *)"}, {"allow", "Bash"}}, map[string]string{
			"git status": "allow PowerShell(git status)", " git  status\n": "allow PowerShell(git status)", "npm run": "allow PowerShell(npm run *)", "npm run build -- --x": "allow PowerShell(npm run *)",
			"npm run 'a b'": "allow PowerShell(npm run *)", "git status -s": "ask:tool", "Git status": "ask:tool", "npm runner": "ask:tool", "make x": "ask:tool", "make": "ask:tool", "ls": "ask:tool",
			"npm run build; rm x": "ask:tool", "npm run build | rm": "ask:tool", "npm run $(rm x)": "ask:tool", "npm run build & rm x": "ask:tool", "npm run `; rm x": "ask:tool", "npm run { rm x }": "ask:tool",
			"npm run 'a": "ask:tool", "npm run \"$(rm x)\"": "ask:tool", "npm run build\nrm x": "ask:tool", "npm run build > x": "ask:tool", "& npm run build": "ask:tool", "npm run --% & rm x": "ask:tool", "npm run ‘a’": "ask:tool", "npm run %PATH%": "ask:tool", "npm run *": "ask:tool",
		}},
		{"", []entry{{"allow", "PowerShell"}}, map[string]string{"git status; rm x": "allow PowerShell", "$x": "allow PowerShell"}},
		{"", []entry{{"allow", "PowerShell(*)"}}, map[string]string{"git status; $x": "allow PowerShell(*)"}},
		{"", []entry{{"allow", "PowerShell"}, {"deny", "PowerShell(Remove-Item *)"}, {"ask", "PowerShell(git push*)"}, {"deny", "Bash(curl *)"}}, map[string]string{
			"rm x": "deny PowerShell(Remove-Item *)", "remove-item x": "deny PowerShell(Remove-Item *)", "ls; DEL x": "deny PowerShell(Remove-Item *)", "iex 'rd x'": "deny PowerShell(Remove-Item *)",
			"git push": "ask PowerShell(git push*)", "git.exe push -f": "ask PowerShell(git push*)", "git status; Git Push": "ask PowerShell(git push*)", "curl.exe x": "deny Bash(curl *)", "wget x": "deny Bash(curl *)",
			"git status": "allow PowerShell", "git status; ls": "allow PowerShell", "& $x": "ask:default", "iex $x": "ask:default",
		}},
		{"", []entry{{"allow", "PowerShell"}, {"deny", "Bash"}}, map[string]string{"git status": "deny Bash"}},
		{"", []entry{{"allow", "PowerShell(Get-Content *)"}, {"allow", "PowerShell(tool *)"}, {"deny", "Read(.env)"}, {"deny", "Edit(docs/**)"}}, map[string]string{
			"Get-Content a.txt": "allow PowerShell(Get-Content *)", "Get-Content .env": "deny Read(.env)", "Get-Content -Path:.env": "deny Read(.env)", "Get-Content a,.env": "deny Read(.env)", "Get-Content './.env'": "deny Read(.env)",
			"tool --in=.env": "deny Read(.env)", "tool docs/a": "deny Edit(docs/**)", "Get-Content docs/a": "allow PowerShell(Get-Content *)",
		}},
		{"", []entry{{"allow", "PowerShell"}, {"deny", "Read(./.env)"}, {"deny", "Read(./a b/c)"}, {"ask", "Edit(docs/**)"}}, powerShellFiles("allow PowerShell")},
		{policy.ModeBypass, []entry{{"deny", "Read(./.env)"}, {"deny", "Read(./a b/c)"}, {"ask", "Edit(docs/**)"}}, powerShellFiles("allow:mode")},
		{policy.ModeBypass, nil, map[string]string{
			"Set-Content .mcp-toolset/settings.json x | Out-Null": "deny:path", "$x = 1; Set-Content '.mcp-toolset/settings.json' $x": "deny:path", "'x' > .mcp-toolset/settings.json": "deny:path", "Set-Content '/my cfg/set.json' x | Out-Null": "deny:path",
			"cmd /c 'echo x > .mcp-toolset/settings.json'": "deny:path", "Set-Content .mcp-toolset/settings.json:x y": "deny:path", "Set-Content .git/config x | Out-Null": "ask:path", "Get-Content /closed/x | Out-String": "deny:path", "Get-Content a.txt | Out-String": "allow:mode",
		}},
		{"", []entry{{"allow", "PowerShell(git *)"}, {"allow", "PowerShell(npm *)"}, {"deny", "Bash(git push:*)"}, {"ask", "PowerShell(npm install:*)"}, {"deny", "PowerShell(Hg Strip *)"}, {"allow", "PowerShell(hg *)"}}, map[string]string{
			"git -C . push": "deny Bash(git push:*)", "git --no-pager -c a=b push origin": "deny Bash(git push:*)", "GIT.EXE -C '..' push": "deny Bash(git push:*)", `C:\git\git.exe -C . push`: "deny Bash(git push:*)", "git send-pack": "deny Bash(git push:*)",
			"git status; git -C . push": "deny Bash(git push:*)", "$x; git -C '.' push": "deny Bash(git push:*)", "npm i x": "ask PowerShell(npm install:*)", "npm --loglevel=silent add x": "ask PowerShell(npm install:*)", "timeout 5 git -C . push": "deny Bash(git push:*)",
			"git status": "allow PowerShell(git *)", "git -C . status": "allow PowerShell(git *)", "git log --grep push": "allow PowerShell(git *)", "npm run build": "allow PowerShell(npm *)", "git alias-of-push": "ask:default", "hg --cwd x strip 1": "deny PowerShell(Hg Strip *)",
		}},
		{"", []entry{{"allow", "PowerShell"}, {"deny", "Bash(git push:*)"}}, map[string]string{"cd x": "allow PowerShell", "sort x": "allow PowerShell", "type x": "allow PowerShell", "kill 5": "allow PowerShell", "dotnet build": "allow PowerShell", "ls; cd x": "allow PowerShell"}},
		{policy.ModePlan, []entry{{"allow", "PowerShell(git *)"}}, map[string]string{"git status": "deny:mode"}},
		{policy.ModeBypass, nil, map[string]string{"git status": "allow:mode", "$x": "allow:mode"}},
		{policy.ModeBypass, []entry{{"deny", "PowerShell(rm *)"}}, map[string]string{"git status": "allow:mode", "$x": "ask:default", "ls | Remove-Item x": "deny PowerShell(rm *)"}},
		{policy.ModeDontAsk, []entry{{"allow", "PowerShell(git status)"}}, map[string]string{"git status": "allow PowerShell(git status)", "git diff": "deny:mode"}},
	} {
		s := powerShellScene(t, block.mode, block.rules...)
		for cmd, want := range block.want {
			if d := s.decidePowerShell(t, cmd); show(d) != want {
				t.Errorf("%s %v: %q: %s (%s), want %s", block.mode, block.rules, cmd, show(d), d.Reason, want)
			}
		}
	}
	if _, _, denied := powerShellScene(t, "", entry{"deny", "Bash"}).policy.DeniedTool("PowerShell", nil); !denied {
		t.Error("a rule that denies Bash leaves PowerShell")
	}
}

// powerShellFiles lists decisions under rules for the files .env, "a b/c" and docs.
func powerShellFiles(otherwise string) map[string]string {
	env, spaced := "deny Read(./.env)", "deny Read(./a b/c)"
	return map[string]string{
		"Get-Content .env": env, "Get-Content .env | Out-String": env, "ls; gc ./.env": env, "$x = gc .env": env, "(Get-Content '.env')": env, "git status > .env": env, "foreach ($f in '.env') { gc $f }": env, "pwsh -c 'gc .env'": env,
		"Get-Content FileSystem::.env": env, "Get-Content '.env::$DATA'": env, "Get-Content -Path:.env | Out-String": env, "Get-Content -Path a,.env | Out-String": env, "[IO.File]::ReadAllText('.env')": env, "gc .e`nv": env,
		"Get-Content 'a b/c' | Out-String": spaced, "Get-Content \"a b/c\"; ls": spaced, "gc 'a b'/c": spaced,
		"Set-Content docs/a x | Out-Null": "ask Edit(docs/**)", "ls | % { ri docs/a }": "ask Edit(docs/**)",
		"Get-Content .en*": "ask:default", "Get-Content $x": "ask:default", "ls | % { gc $_ }": "ask:default", "powershell -EncodedCommand AAAA": "ask:default", "gc ('.e' + 'nv')": "ask:default", "cd ..; gc ws/a": "ask:default", "pushd ..\ngc ws/a": "ask:default",
		"ls; " + strings.Repeat("a ", 100): "ask:default",
		"Get-Content a.txt | Out-String":   otherwise, "git status; git diff": otherwise, "git status": otherwise, "Get-Content docs/a": otherwise,
	}
}

func TestPowerShellTexts(t *testing.T) {
	s := powerShellScene(t, "")
	for cmd, want := range map[string]string{
		"git commit -m 'a b'": "PowerShell commands are not contained and each may change something; ask the user to allow it, for good by a rule such as PowerShell(git commit -m a b) in the settings",
		"ls | sort":           "PowerShell commands are not contained and each may change something, and no rule can allow this one by its text, since it is not one command of literal words; ask the user to allow it",
	} {
		d := askPowerShell(judgePowerShell(s.env(), cmd))
		if got := d.Reason + "; " + d.Next; got != want {
			t.Errorf("%q: %s, want %s", cmd, got, want)
		}
	}
	if d := askPowerShell(nil); d.Behavior != policy.Ask {
		t.Error("a command that was not judged is not asked about")
	}
	if p := (*judged)(nil).powerShellParts("x", ""); p.Unresolved == "" {
		t.Error("a command that was not judged has parts")
	}
}

// TestPowerShellCases checks the errors of calls. The configured shell does not exist.
func TestPowerShellCases(t *testing.T) {
	f := newFixture(t, func(c *command.Config, _ *Options) { c.Shell = "/nonexistent/pwsh" })
	toolstest.Run(t, newPowerShell(f.Options.withDefaults()), "testdata/powershell", f.same)
	absent(t, f, "Bash: "+errPowerShell.Error()+"\nBashReadOnly: "+errPowerShell.Error())
}

// TestPowerShellAbsent checks that exactly one of Bash and PowerShell is enabled.
func TestPowerShellAbsent(t *testing.T) {
	f := newFixture(t, nil)
	absent(t, f, "PowerShell: "+errPosix.Error())
	absent(t, &fixture{}, "Bash: "+command.ErrNoShell.Error()+"\nBashReadOnly: "+command.ErrNoShell.Error()+"\nPowerShell: "+command.ErrNoShell.Error())
	for _, tool := range New(f.Options) {
		if tool.Name == "PowerShell" {
			t.Error("PowerShell is a tool on Linux")
		}
	}
}

func absent(t *testing.T, f *fixture, want string) {
	t.Helper()
	r, err := tools.NewRegistry(append(New(f.Options), newPowerShell(f.Options.withDefaults())), tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range r.Absent() {
		got = append(got, a.Name+": "+a.Reason)
	}
	if strings.Join(got, "\n") != want {
		t.Errorf("absent are %q, want %q", got, want)
	}
}
