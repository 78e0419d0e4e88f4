package settings

import (
	"slices"
	"strings"
	"testing"
)

const faulty = "{\"permissions\":{\"deny\":[\"Bash(rm)\"],\n\"dney\":[\"Read(x)\"],\n\"ask\":[\"Raed(y)\"]}}"

// TestFaults checks that faults stop the start and are reported together, except
// faults in the file of an untrusted project.
func TestFaults(t *testing.T) {
	p := newPlace(t)
	p.o.Tools = []string{"Bash", "Read"}
	user, work := p.file(userFile, faulty), p.file(workFile, faulty)
	key := work + ":2: permissions.dney is not a known key; did you mean deny?"
	faults := func(path string) string {
		return strings.ReplaceAll(key+"\n"+work+":3: the ask rule names Raed, which is not a tool here; did you mean Read?", work, path)
	}
	if _, err := Find(p.o); err == nil || err.Error() != faults(user) {
		t.Errorf("user: %v", err)
	}
	p.o.Explicit = p.file("given.json", faulty)
	if _, err := Find(p.o); err == nil || err.Error() != faults(p.o.Explicit)+"\n"+faults(user) {
		t.Errorf("command line: %v", err)
	}
	p.o.Explicit = ""
	p.file(userFile, "{}")
	notice := "[" + key + " This is the first of 2 faults, which mcp-toolset policy check lists. The project is not trusted, so the server ignores this; " +
		"only valid deny and ask rules hold. Ask the user to correct the file.]"
	for _, more := range []string{"", `"allow":["Bash"],`} {
		p.file(workFile, strings.Replace(faulty, `"deny"`, more+`"deny"`, 1))
		f := p.find()
		if !slices.Contains(f.Warnings, key) || len(f.Warnings) != 1 || f.Notice != notice {
			t.Errorf("%s: %q %s", more, f.Warnings, f.Notice)
		}
		if f.Merged.Rules().Count(0) != 1 || f.Merged.Rules().Count(1) != 1 || f.Merged.Rules().Count(2) > 0 && f.Layers[1].Trusted == (more != "") {
			t.Errorf("%s: of the file hold %d, %d, %d rules", more, f.Merged.Rules().Count(0), f.Merged.Rules().Count(1), f.Merged.Rules().Count(2))
		}
	}
	// The present file is trusted, so its faults stop the start.
	project, err := ReadProject(p.at("work"))
	if err != nil {
		t.Fatal(err)
	}
	if err := NewTrust(p.o.State).Add(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(p.o); err == nil || err.Error() != faults(work) {
		t.Errorf("trusted: %v", err)
	}
	p.file(workFile, strings.Replace(faulty, `"deny"`, `"allow":["Read"],"deny"`, 1))
	if f := p.find(); !f.Layers[1].Changed || f.Notice != notice {
		t.Errorf("changed: %+v", f)
	}
	// A key of another program or a tool with a very different name is not a fault.
	p.file(userFile, `{"other":1,"permissions":{"deny":["Frobnicate"],"disableBypassPermissionsMode":"disable"}}`)
	p.file(workFile, `{"other":1}`)
	if f := p.find(); f.Notice != "" || len(f.Warnings) > 0 {
		t.Errorf("%+v", f)
	}
}
