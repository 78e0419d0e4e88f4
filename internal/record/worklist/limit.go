package worklist

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
)

// The limits of a list.
const (
	MaxLine        = 200 // characters of subject, activeForm and owner
	maxItems       = 1000
	maxDescription = 10_000 // characters
	maxMetadata    = 10_000 // bytes of an item's metadata as JSON
	maxBlockers    = 100    // items that block one item
	// maxText is the limit of all texts and metadata of a list, in bytes. A list in a file is
	// read and written as a whole.
	maxText = 4 << 20
)

// check refuses an item that exceeds a limit.
func check(it Item) error {
	for _, f := range []struct {
		name, text string
		most       int
		next       string
	}{
		{"subject", it.Subject, MaxLine, "Put the rest into description."},
		{"description", it.Description, maxDescription, "Shorten it, or write it to a file and name the file."},
		{"activeForm", it.ActiveForm, MaxLine, "Shorten it."},
		{"owner", it.Owner, MaxLine, "Shorten it."},
	} {
		if n := utf8.RuneCountInString(f.text); n > f.most {
			return fault.New(fmt.Sprintf("%s has %d characters, and the most is %d", f.name, n, f.most), f.next)
		}
	}
	if it.Subject == "" {
		return fault.New("subject is empty", "Name the work in a few words.")
	}
	if n := metadataSize(it); n > maxMetadata {
		return fault.New(fmt.Sprintf("metadata would have %d bytes, and the most is %d", n, maxMetadata), "Leave something out, or remove keys by setting them to null.")
	}
	return nil
}

func metadataSize(it Item) int {
	if len(it.Metadata) == 0 {
		return 0
	}
	data, err := json.Marshal(it.Metadata)
	if err != nil {
		return maxMetadata + 1 // it was decoded from JSON
	}
	return len(data)
}

// fits refuses a list that exceeds a limit.
func (l *List) fits() error {
	const next = "Delete completed tasks with TaskUpdate and status deleted."
	if len(l.Items) > maxItems {
		return fault.New(fmt.Sprintf("the list has %d tasks, and no more fit", maxItems), next)
	}
	total := 0
	for _, it := range l.Items {
		total += len(it.Subject) + len(it.Description) + len(it.ActiveForm) + len(it.Owner) + metadataSize(it)
	}
	if total > maxText {
		return fault.New(fmt.Sprintf("the texts of the list would have %d bytes, and the most is %d", total, maxText), next)
	}
	return nil
}
