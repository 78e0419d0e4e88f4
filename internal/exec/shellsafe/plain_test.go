package shellsafe

import "testing"

// TestPlain checks which commands a rule of a preset may allow, or need none beside one.
func TestPlain(t *testing.T) {
	const none, allowable, repeated, reads, local = 0, 1, 2, 4, 8
	for text, want := range map[string]int{
		"npm test": allowable, "time npm test": repeated, "time -p npm test": repeated, "for i in 1 2; do npm test; done": repeated,
		"for i in 1; do time npm test; done": repeated, "for i in 1; do npm test $i; done": repeated, "for i in $X; do npm test $i; done": none, "for PATH in x; do npm test; done": none,
		"for PIP_INDEX_URL in x; do npm test; done": none, "for ((i=0;i<2;i++)); do npm test; done": none, "select i in a; do npm test; done": none,
		"f() { npm test; }": none, "(npm test) > f": none, "for i in 1; do X=1 npm test; done": none,
		"X=1": reads, "x=$Y": reads, `X="$HOME/a $1"`: reads, "X=$(ls)": reads, "X=${Y:-b}": reads, "A=1 B=2": reads,
		"PATH=x": none, "A=1 PATH=x": none, "NODE_OPTIONS=x": none, "HTTPS_PROXY=x": none, "LDFLAGS=x": none, "npm_config_x=1": none, "X+=1": none, "X[0]=1": none, "X=(a b)": none,
		"X=${Y@P}": none, "X=$((Y))": none, "X=${!Y}": none, "X=${Y:=a}": none, "X=${Y[$Z]}": none,
		"export CI=1": reads, "export X=1": none, "export PATH=x": none, "declare CI=1": none,
		"echo $X": allowable, `echo "${X:-a} ${#X} $! $?"`: allowable, "echo $X/*": allowable, "echo ${X@P}": none, "echo ${X[$Y]}": none, "echo ${!X}": none, "echo ${X//a/b}": none,
		"printf $X": none, "npm $X": none, `npx tsc "$X"`: none, `echo "$(ls)"`: allowable | reads,
		"curl localhost:3000 -d a": allowable | local, `curl -s -X PUT http://127.0.0.1:3000/a -H "A: b" --json '{"a":1}'`: allowable | local, "curl -F a=b localhost": allowable | local,
		"curl localhost -d @f": allowable, "curl localhost -F a=@f": allowable, "curl localhost -F 'a=<f'": allowable, "curl localhost --data-urlencode a@f": allowable, "curl localhost -d a -o f": allowable,
		"curl localhost example.com -d a": allowable, "curl localhost -x example.com": allowable, "curl localhost -T f": allowable, "curl localhost -K f": allowable, "curl localhost@example.com -d a": allowable, "curl -d a $X": none,
		"curl -L localhost -d a": allowable, "curl --unix-socket /s localhost -d a": allowable,
	} {
		a := Analyse(text, Options{Dir: "/ws", Home: "/home/u", Roots: []string{"/ws"}})
		if len(a.Commands) == 0 {
			t.Errorf("%s: no command", text)
			continue
		}
		c, got := &a.Commands[0], 0
		for bit, is := range map[int]bool{allowable: c.Allowable, repeated: c.Repeated, reads: c.Reads, local: c.Local()} {
			if is {
				got |= bit
			}
		}
		if a.Unresolved != "" {
			got = none // the user is asked about the whole text
		}
		if got != want {
			t.Errorf("%s: %04b, want %04b", text, got, want)
		}
	}
}
