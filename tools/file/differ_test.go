package file_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/tools"
	"mcp-toolset/tools/edit"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/notebook"
	"mcp-toolset/tools/read"
	"mcp-toolset/tools/toolstest"
)

// form is a way to store a text in a file.
type form struct {
	name    string
	declare string // first line
	letters string
	encode  func(string) []byte
}

func utf16Form(order binary.AppendByteOrder) func(string) []byte {
	return func(s string) (b []byte) {
		for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
			b = order.AppendUint16(b, u)
		}
		return b
	}
}

func older(e encoding.Encoding) func(string) []byte {
	return func(s string) []byte {
		b, err := e.NewEncoder().Bytes([]byte(s))
		if err != nil {
			panic(err)
		}
		return b
	}
}

var forms = []form{
	{"UTF-8", "", "aäß€東𝄞", func(s string) []byte { return []byte(s) }},
	{"UTF-8 with a mark", "", "aäß€東𝄞", func(s string) []byte { return []byte("\ufeff" + s) }},
	{"UTF-16 LE", "", "aäß€東𝄞", utf16Form(binary.LittleEndian)},
	{"UTF-16 BE", "", "aäß€東𝄞", utf16Form(binary.BigEndian)},
	{"windows-1251", "# coding: cp1251\n", "Приветмир—", older(charmap.Windows1251)},
	{"iso-8859-2", "# -*- coding: iso-8859-2 -*-\n", "árvíztűrő", older(charmap.ISO8859_2)},
	{"windows-1255", "<?xml version=\"1.0\" encoding=\"windows-1255\"?>\n", "שלוםעולם", older(charmap.Windows1255)},
	{"koi8-r", "/* vim: set fenc=koi8-r : */\n", "Приветмир", older(charmap.KOI8R)},
	{"shift_jis", "<html><meta charset=shift_jis>\n", "日本語表示ソ能カナ", older(japanese.ShiftJIS)},
	{"euc-jp", "# coding: euc-jp\n", "日本語表示カナ", older(japanese.EUCJP)},
	{"euc-kr", "@charset \"euc-kr\";\n", "안녕하세요세계", older(korean.EUCKR)},
	{"gb18030", "# coding: gb18030\n", "你好世界㐀中文", older(simplifiedchinese.GB18030)},
	{"big5", "# coding: big5\n", "你好世界中文功", older(traditionalchinese.Big5)},
}

// TestDifferential compares Read, Edit and NotebookEdit with a decoder and with models of bytes and
// JSON, on random texts in all encodings and with all line endings.
func TestDifferential(t *testing.T) {
	n := testscale.N(60, 1000)
	counts := map[string]int{}
	for seed := range n {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		w := toolstest.NewWorkspace(t)
		o := file.Options{Guard: file.GuardOff, Locks: w.Locks}
		tool := map[string]*tools.Tool{"Read": read.New(read.Options{Repeat: true}), "Edit": edit.New(o), "NotebookEdit": notebook.New(o)}
		call := func(name string, args map[string]any) (string, error) {
			data, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			counts[name]++
			resp, err := w.Call(t.Context(), tool[name], string(data))
			if err != nil {
				return "", err
			}
			return toolstest.Text(resp), nil
		}
		f := forms[rnd.IntN(len(forms))]
		ending := []string{"\n", "\n", "\r\n"}[rnd.IntN(3)]
		letters := append([]rune(f.letters), []rune("ab \t\n\n")...)
		random := func(max int) string {
			var b strings.Builder
			for range rnd.IntN(max) {
				b.WriteRune(letters[rnd.IntN(len(letters))])
			}
			return b.String()
		}
		text := f.declare + "x" + string([]rune(f.letters)[1]) + "\n" + random(120)
		path := filepath.Join(w.Root, "f.py")
		bytesOf := func(s string) []byte { return f.encode(strings.ReplaceAll(s, "\n", ending)) }
		if err := os.WriteFile(path, bytesOf(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			offset, limit := 1+rnd.IntN(len(lines)), 1+rnd.IntN(8)
			got, err := call("Read", map[string]any{"file_path": "f.py", "offset": offset, "limit": limit})
			var want strings.Builder
			for i := offset; i < offset+limit && i <= len(lines); i++ {
				fmt.Fprintf(&want, "%d\t%s\n", i, lines[i-1])
			}
			isASCII := strings.IndexFunc(want.String(), func(r rune) bool { return r > 127 }) < 0
			if err != nil || !strings.HasPrefix(got+"\n", want.String()) || !isASCII && strings.Contains(got, "not valid") {
				t.Fatalf("seed %d, %s: read %q, %v; want %q", seed, f.name, got, err, want.String())
			}
			runes := []rune(text)
			from := len([]rune(f.declare)) + rnd.IntN(len(runes)-len([]rune(f.declare)))
			old := string(runes[from : from+1+rnd.IntN(min(5, len(runes)-from))])
			all := rnd.IntN(3) == 0
			replacement := random(6)
			if replacement == "" {
				replacement = "b"
			}
			model := strings.Replace(text, old, replacement, 1)
			if all {
				model = strings.ReplaceAll(text, old, replacement)
			}
			_, err = call("Edit", map[string]any{"file_path": "f.py", "old_string": old, "new_string": replacement, "replace_all": all})
			overlaps := strings.Contains(text[strings.Index(text, old)+1:], old)
			switch refused := old == replacement || !all && overlaps; {
			case refused && err == nil, !refused && err != nil:
				t.Fatalf("seed %d, %s: edit of %q to %q in %q: %v", seed, f.name, old, replacement, text, err)
			case refused:
				model = text
			}
			data, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(data, bytesOf(model)) {
				t.Fatalf("seed %d, %s: edit of %q to %q in %q: has %q, want %q", seed, f.name, old, replacement, text, data, bytesOf(model))
			}
			if !strings.HasPrefix(model, f.declare) || strings.Count(model, "\n") < 2 {
				break // a change of the declaration is another test; without a line ending, there is none to keep
			}
			text = model
		}
		differNotebook(t, rnd, w, call)
	}
	t.Logf("%d texts: %d calls of Read, %d of Edit, %d of NotebookEdit, no difference", n, counts["Read"], counts["Edit"], counts["NotebookEdit"])
}

// differNotebook compares an edit of one cell with a model.
func differNotebook(t *testing.T, rnd *rand.Rand, w *toolstest.Workspace, call func(string, map[string]any) (string, error)) {
	type cell struct {
		Type     string   `json:"cell_type"`
		ID       string   `json:"id"`
		Metadata struct{} `json:"metadata"`
		Source   string   `json:"source"`
	}
	book := struct {
		Cells    []cell         `json:"cells"`
		Metadata map[string]any `json:"metadata"`
		Format   int            `json:"nbformat"`
		Minor    int            `json:"nbformat_minor"`
	}{Metadata: map[string]any{"kept": "é"}, Format: 4, Minor: 5}
	for i := range 1 + rnd.IntN(5) {
		book.Cells = append(book.Cells, cell{Type: "markdown", ID: fmt.Sprintf("c%d", i), Source: fmt.Sprintf("text %d\n", rnd.IntN(100))})
	}
	at := rnd.IntN(len(book.Cells))
	data, err := json.MarshalIndent(book, "", strings.Repeat(" ", rnd.IntN(4)))
	if err == nil {
		err = os.WriteFile(filepath.Join(w.Root, "n.ipynb"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	mode := []string{"replace", "insert", "delete"}[rnd.IntN(3)]
	args := map[string]any{"notebook_path": "n.ipynb", "cell_id": book.Cells[at].ID, "edit_mode": mode, "new_source": "new ü\n"}
	switch mode {
	case "replace":
		book.Cells[at].Source = "new ü\n"
	case "insert":
		args["cell_type"] = "markdown"
		book.Cells = append(book.Cells[:at+1:at+1], append([]cell{{Type: "markdown", Source: "new ü\n"}}, book.Cells[at+1:]...)...)
	case "delete":
		book.Cells = append(book.Cells[:at:at], book.Cells[at+1:]...)
	}
	if _, err = call("NotebookEdit", args); err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile(filepath.Join(w.Root, "n.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	type loose struct {
		Cells []struct {
			Type   string `json:"cell_type"`
			ID     string `json:"id"`
			Source any    `json:"source"`
		} `json:"cells"`
		Metadata map[string]any `json:"metadata"`
	}
	var got loose
	if err := json.Unmarshal(data, &got); err != nil || len(got.Cells) != len(book.Cells) || got.Metadata["kept"] != "é" {
		t.Fatalf("%s: %s, %v", mode, data, err)
	}
	for i, c := range got.Cells {
		source := fmt.Sprint(c.Source)
		if list, ok := c.Source.([]any); ok {
			source = ""
			for _, l := range list {
				source += l.(string)
			}
		}
		if want := book.Cells[i]; source != want.Source || c.Type != want.Type || want.ID != "" && c.ID != want.ID {
			t.Fatalf("%s: cell %d is %+v, want %+v", mode, i, c, want)
		}
	}
}
