// Package worklist holds lists of work items: one per session in memory, or one in a file
// that several servers share.
//
// List is a plain value with the rules: ids, limits, dependencies and claims. A Store keeps
// a List and makes each change of it atomic. Errors are worded for models, which know items
// as tasks; a *fault.Fault is for the caller to fix.
package worklist

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// Status is the state of an item.
type Status string

// The states of an item. Deleted is only part of a Change: it removes the item.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Deleted    Status = "deleted"
)

// Item is one entry of a list. Its slices and maps must not be modified.
type Item struct {
	ID          int                        `json:"id"`
	Subject     string                     `json:"subject"`
	Description string                     `json:"description,omitempty"`
	ActiveForm  string                     `json:"activeForm,omitempty"` // what to show while it is in progress
	Status      Status                     `json:"status"`
	Owner       string                     `json:"owner,omitempty"`
	BlockedBy   []int                      `json:"blockedBy,omitempty"` // ids of items of the list, ascending
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	// Writer names the session whose Replace made the item. It is "" for an item that
	// Create made, and in a list that is not shared.
	Writer string `json:"writer,omitempty"`
}

// List is a list of items. The zero value is empty. A copy made with Clone can be changed
// without changing the original.
type List struct {
	Last  int    // the highest id given so far; ids are never given again
	Items []Item // in the order in which they are shown
}

// Clone returns a copy of l.
func (l *List) Clone() List { return List{Last: l.Last, Items: slices.Clone(l.Items)} }

// Get returns the item with an id, as a model wrote it.
func (l *List) Get(id string) (Item, error) {
	i, err := l.find(id)
	if err != nil {
		return Item{}, err
	}
	return l.Items[i], nil
}

// Blocks returns the ids of the items that an item blocks, ascending.
func (l *List) Blocks(id int) []int {
	var ids []int
	for _, it := range l.Items {
		if slices.Contains(it.BlockedBy, id) {
			ids = append(ids, it.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Blockers returns the ids of the items that block an item and are not completed, ascending.
func (l *List) Blockers(it Item) []int {
	var ids []int
	for _, id := range it.BlockedBy {
		if i := l.index(id); i >= 0 && l.Items[i].Status != Completed {
			ids = append(ids, id)
		}
	}
	return ids
}

// index returns the index of the item with an id, or -1.
func (l *List) index(id int) int {
	return slices.IndexFunc(l.Items, func(it Item) bool { return it.ID == id })
}

// find returns the index of the item with an id, as a model wrote it.
func (l *List) find(text string) (int, error) {
	id, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, l.unknown("there is no task " + plain.Key(text))
	}
	if i := l.index(int(id)); i >= 0 {
		return i, nil
	}
	if id > 0 && int(id) <= l.Last {
		return 0, l.unknown(fmt.Sprintf("task %d was deleted", id))
	}
	return 0, l.unknown(fmt.Sprintf("there is no task %d", id))
}

// unknown returns the error for an id that is not in the list. It names up to five ids that
// are, those of items that are not completed first.
func (l *List) unknown(fact string) error {
	if len(l.Items) == 0 {
		return fault.New(fact+", as the list is empty", "Add a task with TaskCreate.")
	}
	items := slices.Clone(l.Items)
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(rank(a), rank(b)) })
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = strconv.Itoa(it.ID)
	}
	return fault.Unknown(fact, "task", ids, "TaskList shows all")
}

func rank(it Item) int {
	if it.Status == Completed {
		return 1
	}
	return 0
}

// mostNamed is the number of ids that a text names.
const mostNamed = 5

// Names returns ids for a text: up to five, and the number of the others.
func Names(ids []int) string {
	words := make([]string, 0, mostNamed)
	for _, id := range ids[:min(len(ids), mostNamed)] {
		words = append(words, strconv.Itoa(id))
	}
	text := strings.Join(words, ", ")
	if more := len(ids) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
