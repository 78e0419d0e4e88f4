package shellsafe

import "testing"

func TestNetwork(t *testing.T) {
	for text, want := range map[string]bool{
		"curl https://example.com": true, "cd x && wget -q y": true, "git -C x clone https://a/b": true, "git status": false, "git log": false,
		"git $verb": true, "npm install": true, "npm run build": false, "npm --prefix web ci": false, "pip install -r requirements.txt": true, "pip list": false,
		"curl --version": false, "sudo apt-get install x": true, "make": false, "env A=1 ssh host ls": true, "xargs curl": true, "sh -c 'curl x'": true,
		"go mod download": true, "go env": false, "cargo fetch": true, "cat x | nc host 1": true, "echo curl": false, "": false,
	} {
		a := Analyse(text, Options{Dir: "/ws", Roots: []string{"/ws"}})
		got := false
		for i := range a.Commands {
			got = got || a.Commands[i].Network()
		}
		if got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
