package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"mcp-toolset/internal/search/index"
)

func TestRandomTexts(t *testing.T) {
	for seed := range uint64(randomTexts) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		t.Run("", func(t *testing.T) {
			randomLimits(t, rnd)
			var r Reader
			for range 2 { // the second file uses the buffer of the first
				r.Gather = Gather(rnd.IntN(3))
				text := randomText(rnd)
				data, want := []byte(text), Result{Bytes: int64(len(text)), Nul: -1}
				switch rnd.IntN(4) {
				case 0:
					data, want.Mark = []byte("\uFEFF"+text), 3
				case 1:
					data, want.Decoded = encodeUTF16(text, binary.LittleEndian), true
				case 2:
					data, want.Decoded = encodeUTF16(text, binary.BigEndian), true
				case 3:
					text = strings.TrimLeft(text, "\uFEFF")
					data, want.Bytes = []byte(text), int64(len(text))
				}
				f := &fake{data: data}
				if rnd.IntN(2) == 0 {
					f.short = rnd
				}
				size := int64(len(data)) * int64(rnd.IntN(2))
				chunks, result, err := collect(&r, f, size)
				if err == nil {
					err = verify(chunks, []byte(text), 0, 1, true)
				}
				if err != nil {
					t.Fatalf("seed %d, %+v, size %d: %v", seed, want, size, err)
				}
				if result != want {
					t.Fatalf("seed %d: result %+v, want %+v", seed, result, want)
				}
				if r.Gather == Whole && len(chunks) > 1 && len(text) <= wholeBytes && (!want.Decoded && len(data) <= wholeBytes || len(data)*3/2 <= wholeBytes) {
					t.Fatalf("seed %d: a text of %d bytes has %d chunks", seed, len(text), len(chunks))
				}
				if len(r.buf) > maxReusedBuffer {
					t.Fatalf("seed %d: a buffer of %d bytes was kept", seed, len(r.buf))
				}
			}
		})
	}
}

// TestCutRunes checks that a line that is too long is cut between runes.
func TestCutRunes(t *testing.T) {
	limits(t, 4, 4, 4, 8, 16, 64, 8)
	for pad := range 5 {
		text := strings.Repeat("x", pad) + strings.Repeat("東𝄞é", 50)
		chunks, _, err := collect(new(Reader), &fake{data: []byte(text)}, int64(len(text)))
		if err != nil || len(chunks) < 10 {
			t.Fatal(len(chunks), err)
		}
		for _, c := range chunks {
			if !utf8.Valid(c.Text) {
				t.Errorf("%q", c.Text)
			}
		}
	}
}

// TestUTF16 checks that units of all kinds, valid and invalid, are decoded as in the
// standard library.
func TestUTF16(t *testing.T) {
	// The bytes of U+6100 in the wrong order are those of an a.
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		text := "abcdefghi" + strings.Repeat("\u6100", 20)
		raw := encodeUTF16(text, order)
		if chunks, _, err := collect(new(Reader), &fake{data: raw}, int64(len(raw))); err != nil || string(chunks[0].Text) != text {
			t.Errorf("%v: %q, %v", order, chunks[0].Text, err)
		}
	}
	units := []uint16{'a', 'b', '\n', 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF}
	for seed := range uint64(randomTexts) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		order := []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian}[seed%2]
		raw := order.AppendUint16(nil, 0xFEFF)
		var text []uint16
		for range rnd.IntN(60) {
			u := units[rnd.IntN(len(units))]
			text = append(text, u)
			raw = order.AppendUint16(raw, u)
		}
		want := string(utf16.Decode(text))
		if rnd.IntN(4) == 0 {
			raw = append(raw, 'x') // half a unit
			want += "\uFFFD"
		}
		t.Run("", func(t *testing.T) {
			randomLimits(t, rnd)
			chunks, result, err := collect(new(Reader), &fake{data: raw, short: rnd}, int64(len(raw)))
			if err == nil {
				err = verify(chunks, []byte(want), 0, 1, true)
			}
			if err != nil || !result.Decoded {
				t.Fatalf("seed %d: %x: %v, %+v", seed, raw, err, result)
			}
		})
	}
}

func TestNul(t *testing.T) {
	limits(t, 16, 32, 32, 64, 64, 1024, 16)
	line := "0123456\n"
	long := strings.Repeat(line, 100)
	le := func(text string) string { return string(encodeUTF16(text, binary.LittleEndian)) }
	for _, tc := range []struct {
		name, data string
		nul        int64
		before     int64 // bytes passed on by Skip
		reads      int   // of Skip
	}{
		{"nothing else", "\x00", 0, 0, 1},
		{"at once", "\x00" + long, 0, 0, 1},
		{"end of the head", long[:15] + "\x00" + long, 15, 0, 1},
		{"behind the head", long[:16] + "\x00" + long, 16, 0, 2},
		{"end of a short text", long[:63] + "\x00", 63, 0, 2},
		{"end of a long text", long + "\x00", 800, 792, 35},
		{"amid a long text", long[:80] + "\x00" + long, 80, 72, 5},
		{"behind a mark", "\uFEFF" + line + "\x00" + long, 8, 0, 1},
		{"UTF-16", le(line + "\x00" + line), 8, 0, 2},
		{"UTF-32 LE", "\xFF\xFE\x00\x00a\x00\x00\x00", 2, 0, 1},
		{"UTF-32 BE", "\x00\x00\xFE\xFF\x00\x00\x00a", 0, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.TrimPrefix(tc.data, "\uFEFF")
			if tc.name == "UTF-16" {
				text = line + "\x00" + line
			}
			for _, mode := range []Mode{Skip, Report, Search} {
				f := &fake{data: []byte(tc.data)}
				chunks, result, err := collect(&Reader{Mode: mode, Gather: Whole}, f, int64(len(tc.data)))
				if err != nil {
					t.Fatal(err)
				}
				want := Result{Kind: Binary, Bytes: int64(len(text)), Nul: tc.nul, Decoded: tc.name == "UTF-16"}
				if tc.name == "behind a mark" {
					want.Mark = 3
				}
				switch mode {
				case Skip:
					want.Bytes = tc.before
					if f.calls > tc.reads {
						t.Errorf("read %d times, want at most %d", f.calls, tc.reads)
					}
				case Search:
					want.Kind, want.Nul = Text, -1
				}
				if result != want {
					t.Errorf("mode %d: %+v, want %+v", mode, result, want)
				}
				if mode == Skip {
					continue
				}
				if err := verify(chunks, []byte(text), 0, 1, true); err != nil {
					t.Errorf("mode %d: %v", mode, err)
				}
				for _, c := range chunks {
					if has := mode == Report && c.Offset+int64(len(c.Text)) > tc.nul; c.Binary != has {
						t.Errorf("mode %d, chunk at %d: Binary is %t", mode, c.Offset, c.Binary)
					}
				}
			}
		})
	}
}

// TestReads counts system calls.
func TestReads(t *testing.T) {
	line := strings.Repeat("x", 63) + "\n"
	for _, tc := range []struct {
		name  string
		data  string
		size  int64
		calls int
	}{
		{"small", line, 64, 1},
		{"size not known", line, 0, 1}, // this file returns its end with the bytes
		{"longer than the head", strings.Repeat(line, 3000), 64 * 3000, 2},
		{"longer than the buffer", strings.Repeat(line, 30_000), 64 * 30_000, 2},
		{"binary", "\x00" + strings.Repeat(line, 300_000), 64*300_000 + 1, 1},
		{"empty", "", 0, 1},
	} {
		f := &fake{data: []byte(tc.data)}
		if _, _, err := collect(&Reader{Gather: Whole}, f, tc.size); err != nil || f.calls != tc.calls {
			t.Errorf("%s: %d reads, want %d; %v", tc.name, f.calls, tc.calls, err)
		}
	}
}

// TestAllocations checks that a file costs no allocation.
func TestAllocations(t *testing.T) {
	var r Reader
	f := &fake{data: []byte("text\n")}
	each := func(Chunk) bool { return true }
	ranges := []index.Range{{Start: 0, End: 5, Line: 1}}
	f2 := &fake{data: []byte("text\ntext\n")}
	f3 := &fake{data: encodeUTF16("text\n", binary.LittleEndian)}
	if n := testing.AllocsPerRun(100, func() {
		r.Read(context.Background(), f, 5, each)
		r.ReadRanges(context.Background(), f2, 10, 0, ranges, each)
		r.Read(context.Background(), f3, 12, each)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSizes(t *testing.T) {
	limits(t, 16, 32, 32, 64, 64, 1024, 16)
	long := strings.Repeat("0123456\n", 100)
	for _, tc := range []struct {
		name string
		size int64
		want string
	}{
		{"not known", 0, long},
		{"unsaid", -1, long},
		{"grown", 20, long[:20]},
		{"grown, long", 300, long[:300]},
		{"shrunk", 801, long},
		{"shrunk, long", math.MaxInt64, long},
	} {
		chunks, _, err := collect(new(Reader), &fake{data: []byte(long)}, tc.size)
		if err == nil {
			err = verify(chunks, []byte(tc.want), 0, 1, true)
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	// It shrinks and grows while it is read.
	f := &fake{data: []byte(long)}
	f.after = func(calls int) {
		if calls == 3 {
			f.data = f.data[:120]
		}
	}
	chunks, _, err := collect(new(Reader), f, 800)
	if err == nil {
		err = verify(chunks, []byte(long[:120]), 0, 1, true)
	}
	if err != nil {
		t.Error("shrinking:", err)
	}
}

// TestErrors checks that bytes from before an error are passed on.
func TestErrors(t *testing.T) {
	limits(t, 16, 32, 32, 64, 64, 1024, 16)
	long := strings.Repeat("0123456\n", 100)
	for _, size := range []int64{0, 60, 800} {
		for fail := int64(4); fail < min(100, size); fail++ {
			chunks, _, err := collect(new(Reader), &fake{data: []byte(long), fail: fail}, size)
			var got []byte
			for _, c := range chunks {
				got = append(got, c.Text...)
				if c.Last {
					t.Errorf("failure at %d: a chunk says it is the last", fail)
				}
			}
			if !errors.Is(err, errDisk) || string(got) != long[:fail] {
				t.Errorf("failure at %d of %d: %q, %v", fail, size, got, err)
			}
		}
	}
	if dir, err := os.Open(t.TempDir()); err == nil {
		defer dir.Close()
		if _, err := new(Reader).Read(t.Context(), dir, 4096, func(Chunk) bool { return true }); err == nil {
			t.Error("a folder was read")
		}
	}
}

func TestStop(t *testing.T) {
	limits(t, 16, 32, 32, 64, 64, 1024, 16)
	long := []byte(strings.Repeat("0123456\n", 100))
	f := &fake{data: long}
	n := 0
	if _, err := new(Reader).Read(t.Context(), f, 800, func(Chunk) bool { n++; return n < 3 }); n != 3 || err != nil {
		t.Errorf("%d chunks, %v", n, err)
	}
	if f.read > 3*32+16 {
		t.Errorf("%d bytes were read for three chunks", f.read)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n = 0
	_, err := new(Reader).Read(ctx, f, 800, func(Chunk) bool {
		if n++; n == 3 {
			cancel()
		}
		return true
	})
	if n != 3 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d chunks after cancelling in the third, %v", n, err)
	}
}

// endless is a file of any length whose lines have one length.
type endless struct{ line int64 }

func (e endless) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	for i := e.line - 1 - off%e.line; i < int64(len(p)); i += e.line {
		p[i] = '\n'
	}
	return len(p), nil
}

// TestMemory checks the bounds of memory for long files and long lines.
func TestMemory(t *testing.T) {
	for _, line := range []int64{64, 1 << 20, 16 << 20, 1 << 40} {
		var r Reader
		size := int64(hugeBytes)
		largest, chunks := 0, int64(0)
		result, err := r.Read(t.Context(), endless{line}, size, func(c Chunk) bool {
			largest = max(largest, len(c.Text))
			if c.Cut != (line > int64(lineBytes) && !c.Last) {
				t.Fatalf("lines of %d: Cut is %t", line, c.Cut)
			}
			if want := c.Offset/line + 1; c.Line != want {
				t.Fatalf("lines of %d: line %d, want %d", line, c.Line, want)
			}
			chunks++
			if have := cap(r.scan.buf); have > lineBytes+64 {
				t.Fatalf("lines of %d: a buffer of %d bytes", line, have)
			}
			return true
		})
		if err != nil || result.Bytes != size || cap(r.buf) > maxReusedBuffer {
			t.Errorf("lines of %d: %+v, %v; kept %d", line, result, err, cap(r.buf))
		}
		if want := max(chunkBytes, int(min(2*line, int64(lineBytes)))) + 1; largest > want {
			t.Errorf("lines of %d: a chunk of %d bytes, want at most %d", line, largest, want)
		}
	}
}

// TestRealFiles reads files that only a real system has.
func TestRealFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	text := strings.Repeat("line\n", 100_000)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{name}
	if _, err := os.Stat("/proc/self/limits"); err == nil {
		names = append(names, "/proc/self/limits") // its size is 0
	}
	for _, name := range names {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, size, err := openFile(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		std, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer std.Close()
		for _, f := range []io.ReaderAt{f, std} {
			chunks, _, err := collect(new(Reader), f, size)
			if err == nil {
				err = verify(chunks, want, 0, 1, true)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestPool checks that a Reader from the pool is like a new one.
func TestPool(t *testing.T) {
	for range 100 {
		r := Get()
		if r.Mode != Skip || r.Gather != Chunks {
			t.Fatal("a mode was kept")
		}
		r.Mode, r.Gather = Search, Little
		r.Read(t.Context(), bytes.NewReader([]byte("\x00")), 1, func(Chunk) bool { return true })
		r.Release()
	}
}

// TestLittle checks that little is read if only the beginning is needed.
func TestLittle(t *testing.T) {
	f := &fake{data: bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)}
	r := Reader{Gather: Little}
	if _, err := r.Read(t.Context(), f, int64(len(f.data)), func(Chunk) bool { return false }); err != nil || f.read > int64(littleBytes) {
		t.Errorf("%d bytes were read, %v", f.read, err)
	}
}

func TestLastNewline(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 511, 512, 513, 1024, 1500} {
		b := bytes.Repeat([]byte{'x'}, n)
		if got := lastNewline(b); got != -1 {
			t.Errorf("%d bytes without: %d", n, got)
		}
		for i := range b {
			b[i] = '\n'
			if got := lastNewline(b); got != i {
				t.Fatalf("of %d bytes: %d, want %d", n, got, i)
			}
		}
	}
}
