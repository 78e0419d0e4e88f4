package notebook

import (
	"bytes"
	"slices"
)

// object is a JSON object during an edit. Unchanged parts are written as in the file.
type object struct {
	open, close string // white space inside the brackets
	entries     []entry
	layout      layout // for added entries
}

// entry is a key with its value.
type entry struct {
	lead  []byte // text between it and the entry before; nil means that of layout
	name  string // the decoded key
	key   []byte // the key and the colon as in the file
	value []byte
}

// order is the order in which nbformat writes the keys of a cell.
var order = []string{"attachments", "cell_type", "execution_count", "id", "metadata", "outputs", "source"}

// objectOf splits an object of the file into its entries.
func objectOf(v value, l layout) object {
	o := object{layout: l}
	end := 0
	for key, item := range v.entries() {
		e := entry{name: key.unquoted(), key: v.data[key.from:item.from], value: item.bytes()}
		if end == 0 {
			o.open = string(v.data[v.from+1 : key.from])
		} else {
			e.lead = v.data[end:key.from]
		}
		o.entries = append(o.entries, e)
		end = item.to
	}
	o.close = string(v.data[max(end, v.from+1) : v.to-1])
	return o
}

// bytes returns the object as JSON.
func (o *object) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("{" + o.open)
	for i, e := range o.entries {
		switch {
		case i == 0: // the first entry has no lead, even if it had one before
		case e.lead != nil:
			b.Write(e.lead)
		default:
			b.WriteString(o.layout.between)
		}
		b.Write(e.key)
		b.Write(e.value)
	}
	b.WriteString(o.close + "}")
	return b.Bytes()
}

// find returns the index of a key, or -1.
func (o *object) find(name string) int {
	return slices.IndexFunc(o.entries, func(e entry) bool { return e.name == name })
}

// set sets the value of a key. A new key is added after the key that nbformat writes before it.
func (o *object) set(name string, value []byte) {
	if i := o.find(name); i >= 0 {
		o.entries[i].value = value
		return
	}
	at := 0
	for _, before := range order[:slices.Index(order, name)] {
		if i := o.find(before); i >= 0 {
			at = i + 1
		}
	}
	key := append(quoted(name), o.layout.colon...)
	o.entries = slices.Insert(o.entries, at, entry{name: name, key: key, value: value})
}

// remove removes keys.
func (o *object) remove(names ...string) {
	o.entries = slices.DeleteFunc(o.entries, func(e entry) bool { return slices.Contains(names, e.name) })
}

// ran reports whether the cell has outputs or an execution count.
func (o *object) ran() bool {
	for _, e := range o.entries {
		empty := e.value[0] == 'n' || e.value[0] == '[' && len(bytes.Trim(e.value, "[] \t\r\n")) == 0
		if (e.name == "outputs" || e.name == "execution_count") && !empty {
			return true
		}
	}
	return false
}

// reset removes the outputs and the execution count of a code cell. The format requires both keys,
// so reset adds a missing one.
func (o *object) reset() {
	o.set("outputs", []byte("[]"))
	o.set("execution_count", []byte("null"))
}

// retype changes the type of the cell, and the keys that depend on it.
func (o *object) retype(kind string) {
	o.set("cell_type", quoted(kind))
	if kind == "code" {
		o.remove("attachments")
		o.reset()
	} else {
		o.remove("outputs", "execution_count")
	}
}

// quoted returns a word that needs no escapes as a JSON string.
func quoted(word string) []byte { return []byte(`"` + word + `"`) }
