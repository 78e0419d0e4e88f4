package trigger

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/durable"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// maxDurable is the limit of the durable triggers of a state folder.
const maxDurable = 200

// maxFile is the limit of the file, in bytes. It is more than maxDurable triggers have.
const maxFile = 4 << 20

// content is the content of the file with the durable triggers.
type content struct {
	Version  int      `json:"version"`
	Triggers []record `json:"triggers"`
}

// record is a durable trigger in the file.
type record struct {
	Name      string    `json:"name"`
	Secret    string    `json:"secret"`
	Principal string    `json:"principal"`
	Root      string    `json:"root"`
	Created   time.Time `json:"created"`
}

func newFile(stateDir string, locks *filelock.Locks) durable.File[content] {
	return durable.File[content]{
		Path: filepath.Join(stateDir, "triggers.json"), Locks: locks, Name: "triggers", See: "the action list",
		Max: maxFile, Empty: content{Version: durable.Version}, Check: check,
	}
}

func check(c content) error {
	seen := map[string]bool{}
	for _, d := range c.Triggers {
		if !validName.MatchString(d.Name) || seen[d.Name] {
			return fmt.Errorf("the name %s is repeated or not valid", plain.Key(d.Name))
		}
		if len(d.Secret) < minSecret || d.Created.IsZero() {
			return fmt.Errorf("the trigger %s is not complete", d.Name)
		}
		seen[d.Name] = true
	}
	return nil
}

// minSecret is the length of a secret. A shorter one has been cut off.
const minSecret = 26

// CheckDurable returns an error if the server cannot have durable triggers.
func (r *Registry) CheckDurable() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base != "" {
		return nil
	}
	return fault.New("durable is true, and over stdio the port of a trigger ends with the server", "Set durable to false.")
}

// load updates stored from the file, for a server that can have durable triggers. The caller
// holds mu.
func (r *Registry) load() error {
	if r.base == "" {
		return nil
	}
	c, err := r.file.Read()
	if err != nil {
		return err
	}
	stored := map[string]*trigger{}
	for _, d := range c.Triggers {
		t := r.stored[d.Name]
		if t == nil || t.secret != d.Secret {
			t = &trigger{name: d.Name, secret: d.Secret, durable: true, key: durable.Key{Principal: d.Principal, Root: d.Root}}
		}
		stored[d.Name] = t
	}
	r.stored = stored
	return nil
}

// createDurable makes a durable trigger. The caller holds creating.
func (r *Registry) createDurable(ctx context.Context, v session.View, name string) (Created, error) {
	if err := r.CheckDurable(); err != nil {
		return Created{}, err
	}
	t := &trigger{name: name, secret: rand.Text(), durable: true, key: durable.KeyOf(v), owner: v.Owner(), made: true}
	err := r.file.Update(ctx, func(c *content) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if err := r.room(v, name); err != nil {
			return err
		}
		if len(c.Triggers) >= maxDurable {
			return fault.New(fmt.Sprintf("the state folder has %d durable triggers, and no more may", maxDurable), "Set durable to false.")
		}
		c.Triggers = append(c.Triggers, record{name, t.secret, t.key.Principal, t.key.Root, time.Now().UTC().Truncate(time.Second)})
		return nil
	})
	if err != nil {
		return Created{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored[name] = t // room has made the map
	r.use(v)
	return Created{r.address(name), t.secret}, nil
}

func (r *Registry) deleteDurable(ctx context.Context, t *trigger) error {
	return r.file.Update(ctx, func(c *content) error {
		n := len(c.Triggers)
		c.Triggers = slices.DeleteFunc(c.Triggers, func(d record) bool { return d.Name == t.name && d.Secret == t.secret })
		if len(c.Triggers) == n {
			return fault.New("the trigger "+t.name+" was deleted meanwhile", "Go on; there is nothing to delete.")
		}
		return nil
	})
}

// visible returns the triggers that a session lists, by name. The caller holds mu.
func (r *Registry) visible(v session.View) []*trigger {
	list := r.own(v.Owner())
	for _, t := range r.stored {
		if t.key == durable.KeyOf(v) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *trigger) int { return cmp.Compare(a.name, b.name) })
	return list
}

// receiver returns the session that gets the events of a durable trigger: the one that made
// it, else the one with its key that made a call last. ok is false if there is none. The
// caller holds mu.
func (r *Registry) receiver(t *trigger, now time.Time) (o session.Owner, ok bool) {
	var last time.Time
	for other, u := range r.used {
		switch made := t.made && other == t.owner; {
		case now.Sub(u.at) >= maxIdle:
		case made:
			return other, true
		case u.key == t.key && (!ok || u.at.After(last)):
			o, last, ok = other, u.at, true
		}
	}
	return o, ok
}
