// Package work provides the tools for work lists: TaskCreate, TaskGet, TaskUpdate, TaskList
// and TodoWrite. Models know items of a list as tasks.
//
// The tools count as read-only, since they change no file of the user: plan mode allows
// them. Those that change a list are not concurrency-safe, so they run in order of arrival.
package work

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/record/peers"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// feature is the name of the switch that removes all these tools at once: --feature todo=off.
const feature = "todo"

// Options holds the services of the tools.
type Options struct {
	Own    *worklist.Memory // the list of each session; required unless Shared is set
	Shared *worklist.Shared // the list of all sessions; nil: each has its own
	Name   string           // name of the sessions as owners of items; "": that of their client
	Peers  *peers.Registry  // teams, whose lists take precedence for their members; may be nil
	Server string           // tells the sessions of this server from those of others that share the list
	Tasks  *tasks.Registry  // background tasks, which TaskList counts; required
}

// New returns the tools.
func New(o Options) []*tools.Tool {
	return []*tools.Tool{newCreate(o), newGet(o), newUpdate(o), newList(o), newTodos(o)}
}

// Keys of a result's _meta, for programs.
const (
	MetaItem  = "mcp-toolset/item"  // of TaskCreate, TaskGet and TaskUpdate: an Entry
	MetaItems = "mcp-toolset/items" // of TaskList and TodoWrite: a list of Entry
)

// store is the list of work that a call acts on.
type store struct {
	worklist.Store
	shared bool   // with other sessions
	name   string // of the session as an owner of items; see Options.name
}

// store returns the list of a session: that of its team, the shared one, or its own.
func (o Options) store(v session.View) store {
	if o.Peers != nil {
		if team, name := o.Peers.WorkList(v); team != nil {
			return store{team, true, name}
		}
	}
	if o.Shared != nil {
		return store{o.Shared, true, o.name(v)}
	}
	return store{Store: o.Own.Of(v.Owner())}
}

// name returns the name of a session as an owner of items of the list of all servers. It
// returns "" for a request without a session and without a handle, to which no later
// request could belong. A handle is only for its client to know, so its hash is the name.
func (o Options) name(v session.View) string {
	switch {
	case v.Forgets():
		return ""
	case v.Stateless:
		sum := sha256.Sum256([]byte(v.Handle))
		return fmt.Sprintf("session-%x", sum[:5])
	}
	client := strings.Trim(unnamed.ReplaceAllString(v.Client, "-"), "-")
	return cmp.Or(o.Name, client[:min(len(client), 40)], "session") + "-" + o.Server + "-" + v.ID
}

// unnamed matches what is replaced in the name of a client.
var unnamed = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// backgroundID matches the ids of background tasks.
var backgroundID = regexp.MustCompile(`^[a-z][a-z0-9]{5}$`)

// checkID refuses the id of a background task.
func checkID(id string) error {
	if backgroundID.MatchString(id) {
		return fault.New(id+" is the id of a background task, not of one on the list of work", "Use TaskOutput to read it, or TaskStop to end it.")
	}
	return nil
}

// Entry describes an item in a line.
type Entry struct {
	ID        string   `json:"id" jsonschema:"The task"`
	Subject   string   `json:"subject" jsonschema:"Its goal"`
	Status    string   `json:"status" enum:"pending,in_progress,completed,deleted" jsonschema:"Its status"`
	Owner     string   `json:"owner,omitempty" jsonschema:"Who works on it"`
	BlockedBy []string `json:"blockedBy,omitempty" jsonschema:"Ids of the tasks that block it and are not completed"`
}

// entry returns the entry of an item. blockers are the items that block it.
func entry(it worklist.Item, blockers []int) Entry {
	return Entry{ID: strconv.Itoa(it.ID), Subject: it.Subject, Status: string(it.Status), Owner: it.Owner, BlockedBy: words(blockers)}
}

// state returns the status of an item for a text, with its owner and blockers.
func state(it worklist.Item, blockers []int) string {
	text := string(it.Status)
	if it.Owner != "" {
		text += ", owner " + plain.Line(it.Owner)
	}
	if len(blockers) > 0 {
		text += ", blocked by " + worklist.Names(blockers)
	}
	return text
}

// open returns the ids of what blocks an item now. Nothing blocks a completed one.
func open(l *worklist.List, it worklist.Item) []int {
	if it.Status == worklist.Completed {
		return nil
	}
	return l.Blockers(it)
}

func words(ids []int) []string {
	var out []string
	for _, id := range ids {
		out = append(out, strconv.Itoa(id))
	}
	return out
}

// object is a JSON object of any keys, with numbers as they were written.
type object map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode((*map[string]any)(o))
}

// raw returns the values of an object as JSON.
func (o object) raw() (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for key, value := range o {
		data, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encoding metadata: %w", err)
		}
		out[key] = data
	}
	return out, nil
}

// objectOf returns the object with these values.
func objectOf(raw map[string]json.RawMessage) (object, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, fmt.Errorf("encoding metadata: %w", err)
	}
	var o object
	return o, json.Unmarshal(data, &o)
}

func text(s string) []tools.Content { return []tools.Content{tools.Text{Text: s}} }
