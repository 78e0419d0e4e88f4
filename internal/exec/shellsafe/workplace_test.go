package shellsafe

import (
	"slices"
	"strings"
	"testing"
)

// TestWorkplaces checks in which folders outside of the roots a program is known to work, and which
// files there it may change.
func TestWorkplaces(t *testing.T) {
	o := Options{Dir: "/ws", Roots: []string{"/ws"}, Home: "/home/u"}
	for command, want := range map[string]string{
		"git -C ../o2 init -q":                         "/o2",
		"cd ../o2 && git init -q .":                    "/o2",
		"cd ../o2 && go mod init zz; ls go.mod":        "/o2",
		"cd ../o2 && npm init -y":                      "/o2",
		"make -C ../o2":                                "/o2",
		"make --directory=../o2":                       "/o2",
		"(cd /o2; npm test)":                           "/o2",
		"pushd /o2 && ./x && popd":                     "/o2",
		"npm --prefix /o2 install":                     "/o2",
		"pnpm -C /o2 build":                            "/o2",
		"yarn --cwd /o2 build":                         "/o2",
		"cargo build --manifest-path ../o2/Cargo.toml": "/o2",
		"mvn -f /o2/pom.xml test":                      "/o2",
		"gradle -p /o2 build":                          "/o2",
		"cmake -S . -B /o2/build":                      "/o2/build",
		"ninja -C /o2":                                 "/o2",
		"uv --directory /o2 sync":                      "/o2",
		"go -C /o2 build":                              "/o2",
		"env -C /o2 ./x":                               "/o2",
		"python3 -c 'open(1)' /o2/f":                   "/o2/f",
		"node -e x /o2/f":                              "/o2/f",
		"make OUT=/o2/f":                               "/o2/f",
		"git push /o2/r.git main":                      "/o2/r.git",
		"cd /o2 && tar xf a.tar":                       "/o2",
		"git -C sub init":                              "",
		"cd sub && npm init -y":                        "",
		"make -C sub":                                  "",
		"cd /o2 && ls":                                 "",
		"cd /o2 && git status":                         "",
		"cd /o2 && touch f":                            "",
		"cd /o2 && echo x":                             "",
		"git -C /o2 log":                               "",
		"cd /o2 && docker ps":                          "",
		"cd /o2 && kill 1":                             "",
	} {
		a := Analyse(command, o)
		var got []string
		for _, p := range a.Reads {
			if p.Uncertain && !slices.Contains(got, p.Text) {
				got = append(got, p.Text)
			}
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("%q: %q, want %q", command, all, want)
		}
	}
}

// TestNoFiles checks words that look like paths and name no file.
func TestNoFiles(t *testing.T) {
	o := Options{Dir: "/ws", Roots: []string{"/ws"}, Home: "/home/u"}
	for _, command := range []string{
		"tar xf x.tar", "tar czf x.tgz a", "git log --grep /usr", "git log --grep=/usr", "git commit -m /usr", "git log --author /usr", "go test -run /usr ./...", "go run . -path /usr",
		"npm run x -- --base /usr", "sed -n /usr/p a", "awk /usr/ a", "printf '/usr/%s' x", "docker exec c ls /usr", "go mod init zz", "python3 -c 'print(\"/usr\")'",
	} {
		a := Analyse(command, o)
		for _, p := range append(a.Reads, a.Writes...) {
			if strings.HasPrefix(p.Text, "/usr") || slices.Contains([]string{"xf", "czf", "init"}, p.Text) {
				t.Errorf("%q: %q is a file", command, p.Text)
			}
		}
	}
}

// TestTar checks the files of tar.
func TestTar(t *testing.T) {
	ws := Options{Dir: "/ws", Roots: []string{"/ws"}}
	for command, want := range map[string][2]string{
		"tar cf ../o/1.tar m.go":             {"/ws:m.go", "/ws:../o/1.tar"},
		"tar -czf ../o/1.tgz a b":            {"/ws:a /ws:b", "/ws:../o/1.tgz"},
		"tar --create --file=../o/4.tar a":   {"/ws:a", "/ws:../o/4.tar"},
		"tar -f ../o/1.tar -c a":             {"/ws:a /ws:../o/1.tar", "/ws:../o/1.tar"},
		"tar cf - a":                         {"/ws:a", ""},
		"tar xf x.tar":                       {"/ws:x.tar", ""},
		"tar -xzf x.tgz -C d":                {"/ws:x.tgz", "/ws:d"},
		"tar -x -f x.tar --directory=../o":   {"/ws:x.tar /o", "/ws:../o"},
		"tar -C /src -cf x.tar a":            {"/src:a", "/ws:x.tar"},
		"tar --exclude node_modules -cf x a": {"/ws:a", "/ws:x"},
	} {
		a := Analyse(command, ws)
		if reads, writes := showPaths(a.Reads), showPaths(a.Writes); reads != want[0] || writes != want[1] {
			t.Errorf("%q reads %q and writes %q", command, reads, writes)
		}
	}
}
