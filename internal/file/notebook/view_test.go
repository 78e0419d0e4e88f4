package notebook

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// view returns the view of a notebook, which must be valid.
func view(t *testing.T, data string, r Request) *View {
	t.Helper()
	n, err := Parse([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	v, err := n.View(r)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// numbers returns the numbers of the cells in a view.
func numbers(v *View) string {
	var b strings.Builder
	for _, c := range v.Cells {
		fmt.Fprintf(&b, "%d ", c.Number)
	}
	return fmt.Sprintf("%sof %d, next %d", b.String(), v.Total, v.Next)
}

// TestRanges checks that cells are shown whole, as many as fit.
func TestRanges(t *testing.T) {
	cell := code("a", `, "source": "`+strings.Repeat("x", 1000-cellWords-len("a")-len("code"))+`"`) // 1,000 bytes when shown
	cells := cell + strings.Repeat(","+strings.Replace(cell, `"id": "a"`, `"id": ""`, 1), 4)        // the id cell-N takes 5 bytes more
	for _, tc := range []struct {
		r    Request
		want string
	}{
		{Request{}, "1 2 3 4 5 of 5, next 0"},
		{Request{First: 4}, "4 5 of 5, next 0"},
		{Request{First: 2, Count: 2}, "2 3 of 5, next 0"},
		{Request{First: 4, Count: 9}, "4 5 of 5, next 0"},
		{Request{Budget: 5020}, "1 2 3 4 5 of 5, next 0"},
		{Request{Budget: 5019}, "1 2 3 4 of 5, next 5"},
		{Request{Budget: 2500}, "1 2 of 5, next 3"},
		{Request{First: 3, Budget: 2500}, "3 4 of 5, next 5"},
		{Request{First: 3, Count: 2, Budget: 2500}, "3 4 of 5, next 0"},
		{Request{First: 3, Count: 3, Budget: 2500}, "3 4 of 5, next 5"},
		{Request{First: 2, Budget: 1}, "2 of 5, next 3"},
		{Request{First: 5, Budget: 1}, "5 of 5, next 0"},
		{Request{First: -3, Count: -3, Budget: -3, PictureBytes: -3}, "3 4 5 of 5, next 0"},
		{Request{First: -2, Count: 1}, "4 of 5, next 0"},
		{Request{First: -9}, "1 2 3 4 5 of 5, next 0"},
		{Request{First: 2, Count: 1 << 62}, "2 3 4 5 of 5, next 0"},
	} {
		if got := numbers(view(t, book(cells), tc.r)); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.r, got, tc.want)
		}
	}
}

func TestBeyondTheEnd(t *testing.T) {
	for _, tc := range []struct {
		cells int
		first int
		want  string
	}{
		{0, 5, "<nil>"},
		{1, 2, "has 1 cell, so there is no cell 2. Use offset 1."},
		{2, 3, "has 2 cells, so there is no cell 3. Use an offset from 1 to 2."},
		{2, 2, "<nil>"},
	} {
		n := &Notebook{Cells: make([]Cell, tc.cells)}
		v, err := n.View(Request{First: tc.first})
		if fmt.Sprint(err) != tc.want {
			t.Errorf("cell %d of %d: %v", tc.first, tc.cells, err)
		}
		if tc.cells == 0 && (v.Total != 0 || v.Cells != nil || v.Next != 0) {
			t.Errorf("no cells: %+v", v)
		}
	}
}

var cutNotice = regexp.MustCompile(`(?s)^(.*)\n\[(\d+) bytes left out here; read this cell alone to see them: offset 7, limit 1\]\n(.*)$`)

// TestCut checks that both ends of a long text remain, and that the notice is true.
func TestCut(t *testing.T) {
	lines := strings.Repeat(strings.Repeat("y", 99)+"\n", 200)
	for name, tc := range map[string]struct {
		text       string
		head, tail int // in bytes; -1 if not truncated
	}{
		"as long as may be":      {strings.Repeat("x", longestOutput), -1, -1},
		"one line":               {strings.Repeat("x", longestOutput+1), 5000, 5000},
		"lines":                  {lines, 4999, 5000},
		"lines that do not fall": {"z" + lines + "z", 4900, 4901},
		"wide characters":        {"z" + strings.Repeat("€", 5000) + "z", 4999, 4999},
		"one early line end":     {"z\n" + strings.Repeat("x", 20000) + "\nz", 5000, 5000},
	} {
		got := cut(tc.text, longestOutput, "read this cell alone to see them: offset 7, limit 1")
		m := cutNotice.FindStringSubmatch(got)
		if tc.head < 0 {
			if got != tc.text {
				t.Errorf("%s: was cut", name)
			}
			continue
		}
		if m == nil {
			t.Errorf("%s: no notice in %d bytes", name, len(got))
			continue
		}
		left, _ := strconv.Atoi(m[2])
		headEnd := len(tc.text) - len(m[3]) - left
		if len(m[1]) != tc.head || len(m[3]) != tc.tail || !strings.HasSuffix(tc.text, m[3]) ||
			strings.TrimSuffix(tc.text[:headEnd], "\n") != m[1] || !utf8.ValidString(got) || len(got) > longestOutput+cutWords {
			t.Errorf("%s: %d bytes, %s left out, %d bytes", name, len(m[1]), m[2], len(m[3]))
		}
	}
}

// TestAlone checks that a single requested cell is shown whole.
func TestAlone(t *testing.T) {
	stream := `, "outputs": [{"output_type": "stream", "name": "stdout", "text": "` + strings.Repeat("x", 50_000) + `"}]`
	data := book(code("a", stream) + "," + code("b", stream))
	if got := view(t, data, Request{}).Cells[1].Outputs[0].Text; !strings.Contains(got, "\n[40000 bytes left out here; read this cell alone to see them: offset 2, limit 1]\n") {
		t.Errorf("shown beside others: %d bytes", len(got))
	}
	if got := view(t, data, Request{First: 2, Count: 1, Budget: 10}).Cells[0].Outputs[0].Text; len(got) != 50_000 {
		t.Errorf("shown alone: %d bytes", len(got))
	}
	long := `, "outputs": [{"output_type": "stream", "name": "stdout", "text": "` + strings.Repeat("x", longestAlone+5) + `"}]`
	got := view(t, book(code("a", long)), Request{Count: 1}).Cells[0].Outputs[0].Text
	if !strings.Contains(got, "\n[5 bytes left out here; other tools can take them out of the file]\n") || len(got) > longestAlone+cutWords {
		t.Errorf("too long to be shown alone: %d bytes", len(got))
	}
	source := view(t, book(code("a", `, "source": "`+strings.Repeat("x", longestAlone+5)+`"`)), Request{Count: 1}).Cells[0].Source
	if !strings.Contains(source, "\n[5 bytes left out here; other tools can take them out of the file]\n") {
		t.Errorf("a source too long: %d bytes", len(source))
	}
}

// display returns an output with a picture, in JSON.
func display(data []byte) string {
	return `{"output_type": "display_data", "data": {"image/png": "` + base64.StdEncoding.EncodeToString(data) + `"}}`
}

// noisy returns a PNG picture that cannot be compressed.
func noisy(t *testing.T, side int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, side, side))
	for i, x := 0, uint32(1); i < len(img.Pix); i++ {
		x = x*1664525 + 1013904223
		img.SetGray(i%side, i/side, color.Gray{Y: uint8(x >> 24)})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// outputs describes the outputs of a view.
func outputs(v *View) []string {
	var all []string
	for _, c := range v.Cells {
		for _, o := range c.Outputs {
			if o.Picture != nil {
				o.Text = fmt.Sprintf("%s %dx%d", o.Picture.MIMEType, o.Picture.Width, o.Picture.Height)
			}
			all = append(all, o.Text)
		}
	}
	return all
}

func TestPictures(t *testing.T) {
	small := noisy(t, 30) // some 950 bytes
	cells := book(code("a", `, "outputs": [`+display(small)+","+display(small)+`]`) + "," +
		code("b", `, "outputs": [`+display(small)+`,{"output_type": "stream", "text": "x"}]`))
	shown := "image/png 30x30"
	for name, tc := range map[string]struct {
		data string
		r    Request
		want []string
	}{
		"all fit":   {cells, Request{}, []string{shown, shown, shown, "x"}},
		"two fit":   {cells, Request{PictureBytes: 2*len(small) + 1}, []string{shown, shown, "[a picture is left out; read this cell alone: offset 2, limit 1]", "x"}},
		"the first": {cells, Request{PictureBytes: 1}, []string{shown, "[a picture is left out; read this cell alone: offset 1, limit 1]", "[a picture is left out; read this cell alone: offset 2, limit 1]", "x"}},
		"alone":     {cells, Request{Count: 1, PictureBytes: 1}, []string{shown, "[a picture is left out: the cell has more than one answer holds]"}},
		"none behind one that is left out": {book(code("a", `, "outputs": [`+display(small)+","+display(noisy(t, 60))+","+display(small)+`]`)),
			Request{PictureBytes: 3 * len(small)}, []string{shown, "[a picture is left out; read this cell alone: offset 1, limit 1]", "[a picture is left out; read this cell alone: offset 1, limit 1]"}},
	} {
		if diff := cmp.Diff(tc.want, outputs(view(t, tc.data, tc.r))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	many := view(t, book(code("a", `, "outputs": [`+strings.Repeat(display(small)+",", 24)+display(small)+`]`)), Request{})
	if got := outputs(many); len(got) != 25 || got[mostPictures-1] != shown || got[mostPictures] != "[a picture is left out; read this cell alone: offset 1, limit 1]" {
		t.Errorf("many pictures: %q", got)
	}
}

// TestBadPictures checks that a text replaces a picture that cannot be shown.
func TestBadPictures(t *testing.T) {
	good := noisy(t, 30)
	header := append([]byte(nil), good[:33]...) // up to the first chunk of pixels
	bomb := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\xff\xff\x00\x00\xff\xff\x08\x00\x00\x00\x00")
	bomb = binary.BigEndian.AppendUint32(bomb, crc32.ChecksumIEEE(bomb[12:]))
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"truncated": {good[:len(good)/2], "it is a damaged PNG image: the data ends early"},
		"no pixels": {header, "it is a damaged PNG image: the data ends early"},
		"a bomb":    {bomb, "it is a PNG image of 65535 x 65535 pixels, which takes too much memory to decode"},
		"zeros":     {make([]byte, 6000), "it is not an image of a known kind"},
	} {
		got := outputs(view(t, book(code("a", `, "outputs": [`+display(tc.data)+`]`)), Request{}))[0]
		if want := "[a picture of type image/png cannot be shown: " + tc.want + "]"; got != want || len(got) > pictureWords {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// FuzzParse checks that every notebook that can be read can be shown, and unchanged.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		book(code("a", `, "source": ["x\n", "\ud800\u2028"], "outputs": [{"output_type": "stream", "text": "a\rb\u001b[K"}, `+display([]byte("GIF89a"))+`]`)),
		book(code("a", `, "outputs": [{"output_type": "execute_result", "data": {"application/json": [1, NaN, "\u00ff"], "text/html": "x"}}, {"output_type": "error", "ename": "E", "traceback": ["t"]}]`)),
		`{"nbformat":3,"worksheets":[{"cells":[{"cell_type":"heading","level":1,"source":"x"},{"cell_type":"code","input":"x","outputs":[{"output_type":"pyout","text":"x"}]}]}]}`,
		"\ufeff{\"nbformat\":4,\"cells\":[{\"cell_type\":\"\xff\",\"id\":\"a\"}]}", `{"cells":[],"cells":[],"nbformat":4}`, `[1e400, -Infinity]`,
		book(code("a", `, "outputs": [{"output_type": "stream", "text": "`+strings.Repeat("é", 6000)+`"}]`)),
	} {
		f.Add([]byte(seed), 1, 0, 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, first, count, budget int) {
		n, err := Parse(data)
		if err != nil {
			if !utf8.ValidString(err.Error()) || len(err.Error()) > 500 {
				t.Fatalf("%q", err)
			}
			return
		}
		v, err := n.View(Request{First: first, Count: count, Budget: budget})
		if err != nil {
			return
		}
		sent, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var got View
		if err := json.Unmarshal(sent, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*v, got); diff != "" {
			t.Fatalf("(-sent +arrived):\n%s", diff)
		}
	})
}
