package server

import (
	"strings"
	"testing"
)

// BenchmarkReadMessage measures the parsing of requests, which every request
// waits for.
func BenchmarkReadMessage(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{"read", `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"/home/user/project/internal/server/message.go","offset":10,"limit":200},"_meta":{"progressToken":17}}}`},
		{"write 25 MB", `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"Write","arguments":{"file_path":"/a/b","content":"` + strings.Repeat(`some \"text\"\tof a file, with é\n`, 25<<20/34) + `"}}}`},
	} {
		text := []byte(c.text)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, bad := readMessage(text); bad != nil {
					b.Fatal(bad.text)
				}
			}
		})
	}
}
