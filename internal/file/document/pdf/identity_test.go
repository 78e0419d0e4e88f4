package pdf

import (
	"bytes"
	"fmt"
	"testing"
)

func TestEncryptedAttachments(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	for _, tc := range []struct{ name, dict, want string }{
		{"attachments alone", "/V 4/R 4/CF<</A<</CFM/AESV2/AuthEvent/EFOpen/Length 16>>>>/StmF/Identity/StrF/Identity/EFF/A", "Hello"},
		{"no other filters", "/V 4/R 4/CF<</A<</CFM/AESV2/AuthEvent/EFOpen/Length 16>>>>/EFF/A", "Hello"},
		{"streams, too", "/V 4/R 4/CF<</A<</CFM/AESV2/AuthEvent/DocOpen/Length 16>>>>/StmF/A/StrF/Identity/EFF/A", "is encrypted and needs a password. Ask the user for a copy without a password."},
		{"everything", "/V 2/R 3/Length 128", "is encrypted and needs a password. Ask the user for a copy without a password."},
	} {
		w := newWriter().text("Hello")
		n := w.add(fmt.Sprintf("<</Filter/Standard%s/O(%s)/U(%s)/P -4>>", tc.dict, secret, secret))
		w.finish("")
		data := w.table(fmt.Sprintf("/Encrypt %d 0 R/ID[(a)(a)]", n))
		got := ""
		doc, err := Read(bytes.NewReader(data), int64(len(data)), Request{Cache: cacheDir})
		if err != nil {
			got = err.Error()
		} else {
			got = doc.Pages[0].Text
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
