package worklist

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// Draft describes a new item.
type Draft struct {
	Subject     string
	Description string
	ActiveForm  string
	Metadata    map[string]json.RawMessage
}

// Create adds an item at the end and returns it.
func (l *List) Create(d Draft) (Item, error) {
	it := Item{Subject: d.Subject, Description: d.Description, ActiveForm: d.ActiveForm, Status: Pending, Metadata: merged(nil, d.Metadata)}
	if err := check(it); err != nil {
		return Item{}, err
	}
	l.Last++
	it.ID = l.Last
	l.Items = append(l.Items, it)
	return it, l.fits()
}

// Change describes a change of one item. What is nil or empty stays as it is.
type Change struct {
	ID           string
	Subject      *string
	Description  *string
	ActiveForm   *string
	Owner        *string
	Status       Status
	AddBlocks    []string                   // ids of items that the item blocks
	AddBlockedBy []string                   // ids of items that block the item
	Metadata     map[string]json.RawMessage // merged; null removes a key
}

// Update changes an item and returns it. by names the session that makes the change; "" if
// the list is not shared.
//
// A change to InProgress is a claim. The item then belongs to Owner or, without one, to by.
// Update refuses a claim of an item that another owner has in progress, and of one with
// blockers that are not completed. After an error, l may hold a part of the change.
func (l *List) Update(c Change, by string) (Item, error) {
	i, err := l.find(c.ID)
	if err != nil {
		return Item{}, err
	}
	if err := l.free(l.Items[i], c, by); err != nil {
		return Item{}, err
	}
	if c.Status == Deleted {
		return l.remove(i), nil
	}
	if err := l.depend(i, c); err != nil {
		return Item{}, err
	}
	it := l.Items[i] // with its blockers
	for _, text := range []struct{ to, from *string }{
		{&it.Subject, c.Subject}, {&it.Description, c.Description}, {&it.ActiveForm, c.ActiveForm}, {&it.Owner, c.Owner},
	} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	it.Metadata = merged(it.Metadata, c.Metadata)
	if err := l.move(&it, c.Status); err != nil {
		return Item{}, err
	}
	switch named := c.Owner != nil && *c.Owner != ""; {
	case c.Status == InProgress && !named && by != "":
		it.Owner = by
	case c.Status == Pending && l.Items[i].Status == InProgress && !named:
		it.Owner = "" // the claim ends
	}
	if err := check(it); err != nil {
		return Item{}, err
	}
	l.Items[i] = it
	return it, l.fits()
}

// free refuses a claim, or a change of the owner, of an item that another owner has in
// progress. Setting it to pending is allowed, as its owner may have ended.
func (l *List) free(it Item, c Change, by string) error {
	claims := c.Status == InProgress || c.Owner != nil && c.Status != Pending && c.Status != Deleted
	owner := by
	if c.Owner != nil && *c.Owner != "" {
		owner = *c.Owner
	}
	if !claims || it.Status != InProgress || it.Owner == "" || it.Owner == owner {
		return nil
	}
	return taken(it)
}

func taken(it Item) error {
	return fault.New(fmt.Sprintf("task %d is in progress by %s", it.ID, plain.Line(it.Owner)),
		"Take another task; only if that owner has stopped, set this one to pending first.")
}

// move sets the status of an item. It refuses to start an item that is blocked.
func (l *List) move(it *Item, to Status) error {
	if to == "" {
		return nil
	}
	if to == InProgress && it.Status != InProgress {
		if open := l.Blockers(*it); len(open) > 0 {
			return fault.New(fmt.Sprintf("task %d is blocked by %s", it.ID, Names(open)), "Complete what blocks it first.")
		}
	}
	it.Status = to
	return nil
}

// remove removes an item and the dependencies on it.
func (l *List) remove(i int) Item {
	it := l.Items[i]
	l.Items = slices.Delete(l.Items, i, i+1)
	for j := range l.Items {
		if at := slices.Index(l.Items[j].BlockedBy, it.ID); at >= 0 {
			l.Items[j].BlockedBy = slices.Delete(slices.Clone(l.Items[j].BlockedBy), at, at+1)
		}
	}
	it.Status = Deleted
	return it
}

// merged returns a copy of metadata with changes. A null value removes a key.
func merged(old, changes map[string]json.RawMessage) map[string]json.RawMessage {
	if len(changes) == 0 {
		return old
	}
	out := map[string]json.RawMessage{}
	maps.Copy(out, old)
	for key, value := range changes {
		if string(value) == "null" {
			delete(out, key)
		} else {
			out[key] = value
		}
	}
	return out
}
