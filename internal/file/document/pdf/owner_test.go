package pdf

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestOwner reads files whose owner password is empty, and whose user password is "secret",
// of each revision of the encryption.
func TestOwner(t *testing.T) {
	t.Parallel()
	for revision := 2; revision <= 6; revision++ {
		data, err := os.ReadFile(fmt.Sprintf("testdata/owner/r%d.pdf", revision))
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"hexadecimal": data, "literal": literal(data)} {
			doc, err := read(data, Request{})
			if err != nil {
				t.Errorf("revision %d, %s: %v", revision, name, err)
				continue
			}
			if got, want := show(doc), "1 pages, next 0, note \"\"\n1: \"Hello\"\n"; got != want {
				t.Errorf("revision %d, %s: %s, want %s", revision, name, got, want)
			}
		}
	}
}

// literal returns a file with its hexadecimal strings of passwords and keys as literal
// strings.
func literal(data []byte) []byte {
	return regexp.MustCompile(`/(?:O|U|OE|UE) <[0-9a-f]+>`).ReplaceAllFunc(data, func(entry []byte) []byte {
		key, digits, _ := bytes.Cut(entry, []byte(" <"))
		value, _ := hex.DecodeString(strings.TrimSuffix(string(digits), ">"))
		var b strings.Builder
		for _, c := range value {
			if strings.ContainsRune("()\\\r\n", rune(c)) {
				fmt.Fprintf(&b, "\\%03o", c)
				continue
			}
			b.WriteByte(c)
		}
		return fmt.Appendf(nil, "%s%-*s", key, len(entry)-len(key), "("+b.String()+")")
	})
}

// TestOwnerPasswordIsNotEmpty checks that an owner password that is not empty opens nothing.
func TestOwnerPasswordIsNotEmpty(t *testing.T) {
	t.Parallel()
	for revision := 2; revision <= 6; revision++ {
		data, err := os.ReadFile(fmt.Sprintf("testdata/owner/r%d.pdf", revision))
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(data, []byte("/O <")) + len("/O <")
		data[at] ^= 1 // another digit, so another password
		if _, err := read(data, Request{}); err != errPassword {
			t.Errorf("revision %d: %v", revision, err)
		}
	}
}
