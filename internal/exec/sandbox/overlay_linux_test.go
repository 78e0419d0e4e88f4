package sandbox

import (
	"os"
	"strings"
	"testing"
)

// TestLayered checks that changes in a layered folder go only to the layer, where
// the next command sees them and a read-only command cannot change them. A folder
// that cannot have a layer is read-only.
func TestLayered(t *testing.T) {
	for _, at := range tiers(t) {
		t.Run(at.name, func(t *testing.T) {
			s := newScratch(t)
			cache, layers := s.home+"/cache,with:separators", s.outside+"/layers,a:b"
			write(t, cache+"/old", "old")
			write(t, cache+"/gone/file", "old")
			if err := os.Mkdir(layers, 0o700); err != nil {
				t.Fatal(err)
			}
			p := s.policy
			p.Write, p.Layered, p.Layers = append(p.Write, cache), []string{cache}, []string{layers}
			p.Read = append(p.Read, cache)
			res := s.bash(t, at, p, `cd ~/cache,with:separators; echo new >>old; echo new >added; rm -r gone; mkdir d; mv added d; cat old d/*; ls -A`)
			if !res.Coverage.Mounts {
				t.Skip("without mounts there are no layers")
			}
			if !res.Coverage.Layers {
				t.Fatalf("no layers: %q", res.Coverage.Missing)
			}
			const after = "oldnew\nnew\nd\nold\n"
			if res.out != after || content(t, cache+"/old") != "old" || content(t, cache+"/gone/file") != "old" {
				t.Errorf("the command printed %q", res.out)
			}
			if entries, err := os.ReadDir(cache); err != nil || len(entries) != 2 {
				t.Errorf("the folder holds %v, %v", entries, err)
			}
			const look = `cd ~/cache,with:separators; cat old d/*; ls -A`
			if res := s.bash(t, at, p, look); res.out != after {
				t.Errorf("the next command finds %q", res.out)
			}
			p.ReadOnly = true
			if res := s.bash(t, at, p, look+"; echo more 2>/dev/null >more || echo refused"); res.out != after+"refused\n" {
				t.Errorf("a read-only command finds %q", res.out)
			}
			p.ReadOnly, p.Layers = false, []string{s.outside + "/absent/layers"}
			write(t, s.outside+"/absent", "no folder")
			res = s.bash(t, at, p, `cd ~/cache,with:separators; cat old; echo new >old`)
			if res.Coverage.Layers || !strings.Contains(res.out, "Read-only") || content(t, cache+"/old") != "old" {
				t.Errorf("without a layer: %q, %q", res.out, res.Coverage.Missing)
			}
		})
	}
}
