package worklist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// version is the version of the file format.
const version = 1

// maxFile is the limit of a file, in bytes. A character takes up to six bytes in JSON.
const maxFile = 8*maxText + maxItems*(maxBlockers*8+1000)

// errNewer reports a file of a later version of the format.
var errNewer = errors.New("a newer version of mcp-toolset has written it")

// file is the content of a file.
type file struct {
	Version int    `json:"version"`
	Last    int    `json:"last"`
	Items   []Item `json:"items"`
}

func encode(l List) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(file{Version: version, Last: l.Last, Items: l.Items})
	return b.Bytes(), err
}

// decode returns the list of a file. It refuses what encode does not write, since the next
// change would lose it.
func decode(data []byte) (List, error) {
	var head struct{ Version int }
	if err := json.Unmarshal(data, &head); err == nil && head.Version > version {
		return List{}, errNewer
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var f file
	if err := d.Decode(&f); err != nil {
		return List{}, fmt.Errorf("it is damaged: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return List{}, errors.New("it is damaged: it goes on after its end")
	}
	l := List{Last: f.Last, Items: f.Items}
	if f.Version != version {
		return List{}, errors.New("it is damaged: it has no version")
	}
	if err := l.sound(); err != nil {
		return List{}, fmt.Errorf("it is damaged: %w", err)
	}
	return l, nil
}

// sound returns an error unless the methods of List could have made l.
func (l *List) sound() error {
	status := make(map[int]Status, len(l.Items))
	for _, it := range l.Items {
		switch {
		case it.ID < 1 || it.ID > l.Last || status[it.ID] != "":
			return fmt.Errorf("the id %d is repeated or out of range", it.ID)
		case !slices.Contains([]Status{Pending, InProgress, Completed}, it.Status):
			return fmt.Errorf("item %d has an unknown status", it.ID)
		}
		status[it.ID] = it.Status
	}
	for _, it := range l.Items {
		for _, id := range it.BlockedBy {
			if status[id] == "" {
				return fmt.Errorf("item %d is blocked by %d, which is not there", it.ID, id)
			}
		}
	}
	return l.acyclic()
}
