package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/image/tiff"

	"mcp-toolset/internal/text/fault"
)

// wrong returns files that cannot be shown, with the expected message.
func wrong(t testing.TB) map[string]struct {
	data []byte
	want string
} {
	const (
		again   = ". Make it again or use an undamaged copy."
		ends    = ": the data ends early" + again
		bad     = ": its contents are not valid" + again
		sum     = ": a checksum does not match" + again
		none    = ": its width or height is 0" + again
		memory  = ", which takes too much memory to decode. Scale a copy of it down or cut a part out of it first."
		variant = " of a variant that cannot be decoded. Convert it to PNG."
		unknown = "is not an image of a known kind. PNG, JPEG, GIF, WebP, BMP and TIFF images can be shown."
		moving  = "is an animated WebP image, which cannot be decoded. Convert its first frame to PNG."
	)
	pixel := deflated(0, 0, 255, 0, 0)
	ok := pngFile(1, 1, 8, 2, pixel)
	jpg := jpegOf(t, quarters(60, 40))
	sof := bytes.Index(jpg, []byte{0xff, 0xc0})
	frame := paletted(quarters(60, 40))
	webp := stored(t, "lossy.webp")
	scans := stored(t, "progressive.jpeg")
	last := bytes.LastIndex(scans, []byte{0xff, jpegSOS})
	return map[string]struct {
		data []byte
		want string
	}{
		"empty":     {nil, "is an empty file. Write an image to it first."},
		"text":      {[]byte("BMW is a car maker\n"), unknown},
		"ELF":       {append([]byte("\x7fELF"), make([]byte, 100)...), unknown},
		"icon":      {[]byte("\x00\x00\x01\x00\xff\xff"), unknown},
		"SVG":       {[]byte(`<?xml version="1.0"?><svg/>`), unknown},
		"short PNG": {[]byte("\x89PNG"), unknown},

		"PNG of a signature":      {[]byte("\x89PNG\r\n\x1a\n"), "is a damaged PNG image" + ends},
		"PNG cut":                 {ok[:30], "is a damaged PNG image" + ends},
		"PNG cut in pixels":       {pngOf(t, noise(9, 9))[:120], "is a damaged PNG image" + ends},
		"PNG without end":         {ok[:len(ok)-12], "is a damaged PNG image" + ends},
		"PNG of too few pixels":   {pngFile(9, 9, 8, 2, pixel), "is a damaged PNG image" + bad},
		"PNG of wrong text":       {append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte("0"), 50)...), "is a damaged PNG image" + bad},
		"PNG of wrong length":     {append([]byte("\x89PNG\r\n\x1a\n\xff\xff\xff\xffIHDR"), make([]byte, 21)...), "is a damaged PNG image" + bad},
		"PNG of long chunk":       {insert(ok, pngStart, []byte("\x7f\xff\xff\xffaaAa")), "is a damaged PNG image" + ends},
		"PNG of checksum":         {append(bytes.Clone(ok[:len(ok)-3]), "xxx"...), "is a damaged PNG image" + sum},
		"PNG of header checksum":  {append(bytes.Clone(ok[:29]), make([]byte, 40)...), "is a damaged PNG image" + sum},
		"PNG of pixel checksum":   {pngFile(1, 1, 8, 2, append(bytes.Clone(pixel[:len(pixel)-1]), 9)), "is a damaged PNG image" + sum},
		"PNG of depth 3":          {pngFile(1, 1, 3, 2, pixel), "is a damaged PNG image" + bad},
		"PNG of no pixels":        {pngFile(0, 0, 8, 2, nil), "is a damaged PNG image" + none},
		"PNG of no width":         {pngFile(0, 5, 8, 2, nil), "is a damaged PNG image" + none},
		"PNG of 65535 squared":    {pngFile(65535, 65535, 8, 0, pixel), "is a PNG image of 65535 x 65535 pixels" + memory},
		"PNG of most pixels":      {pngFile(1<<31-1, 1<<31-1, 16, 6, pixel), "is a PNG image of 2147483647 x 2147483647 pixels" + memory},
		"PNG of more than most":   {pngFile(1<<32-1, 1<<32-1, 16, 6, pixel), "is a PNG image of 4294967295 x 4294967295 pixels" + memory},
		"PNG bomb":                {pngFile(20000, 20000, 1, 0, deflated(2501*20000)), "is a PNG image of 20000 x 20000 pixels" + memory},
		"PNG of deep pixels":      {pngFile(7000, 7000, 16, 6, pixel), "is a PNG image of 7000 x 7000 pixels" + memory},
		"PNG of many chunks":      {insert(ok, pngStart, bytes.Repeat(chunk("tIME", nil), 2000)), "is a damaged PNG image" + bad},
		"PNG of one long row":     {pngFile(60_000_000, 1, 8, 6, pixel), "is a PNG image of 60000000 x 1 pixels" + memory},
		"JPEG of a start":         {[]byte("\xff\xd8\xff\xe0\x00\x10JFIF"), "is a damaged JPEG image" + ends},
		"JPEG cut":                {jpg[:len(jpg)-9], "is a damaged JPEG image" + ends},
		"JPEG without end":        {jpg[:len(jpg)-2], "is a damaged JPEG image" + ends},
		"JPEG without scan":       {append(bytes.Clone(jpg[:sof+19]), 0xff, jpegEOI), "is a damaged JPEG image" + bad},
		"JPEG of nothing":         {[]byte("\xff\xd8\xff\xd9\xff\xd9"), "is a damaged JPEG image" + bad},
		"JPEG of short segment":   {insert(jpg, 2, []byte{0xff, jpegAPP1, 0, 1}), "is a damaged JPEG image" + bad},
		"JPEG of two frames":      {insert(jpg, sof, jpg[sof:sof+19]), "is a damaged JPEG image" + bad},
		"JPEG of 65535 squared":   {[]byte("\xff\xd8\xff\xc0\x00\x0b\x08\xff\xff\xff\xff\x01\x01\x11\x00\xff\xd9"), "is a JPEG image of 65535 x 65535 pixels" + memory},
		"JPEG of no height":       {[]byte("\xff\xd8\xff\xc0\x00\x0b\x08\x00\x00\x00\x09\x01\x01\x11\x00\xff\xd9"), "is a damaged JPEG image" + none},
		"JPEG of kept blocks":     {[]byte("\xff\xd8\xff\xc2\x00\x0b\x08\x1f\x40\x1f\x40\x01\x01\x11\x00\xff\xd9"), "is a JPEG image of 8000 x 8000 pixels" + memory},
		"JPEG of 12 bits":         {[]byte("\xff\xd8\xff\xc1\x00\x0b\x0c\x00\x09\x00\x09\x01\x01\x11\x00\xff\xd9"), "is a JPEG image" + variant},
		"lossless JPEG":           {[]byte("\xff\xd8\xff\xc3\x00\x0b\x08\x00\x09\x00\x09\x01\x01\x11\x00\xff\xd9"), "is a JPEG image" + variant},
		"JPEG of many scans":      {insert(scans, last, bytes.Repeat(scans[last:len(scans)-2], 100)), "is a JPEG image of 110 scans, which takes too long to decode. Save it again as a plain JPEG or PNG image."},
		"GIF of 65535 squared":    {bareGIF(65535, 65535, 1), "is a GIF image of 65535 x 65535 pixels" + memory},
		"GIF of no screen":        {bareGIF(0, 0, 1), "is a damaged GIF image" + none},
		"GIF of no frames":        {bareGIF(1, 1, 0), "is a damaged GIF image" + bad},
		"GIF cut":                 {gifOf(t, frame)[:430], "is a damaged GIF image" + ends},
		"GIF cut behind a frame":  {gifOf(t, frame, frame)[:len(gifOf(t, frame))+9], "is a damaged GIF image" + ends},
		"GIF of garbage":          {append(bytes.Clone(bareGIF(1, 1, 1)[:34]), "garbage"...), "is a damaged GIF image" + bad},
		"GIF frame off screen":    {append(append(bareGIF(1, 1, 0)[:19], ",\x01\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"...), ';'), "is a damaged GIF image" + bad},
		"WebP of wrong lengths":   {[]byte("RIFF\xff\xff\xff\xffWEBPVP8L\xff\xff\xff\xff/"), "is a damaged WebP image" + ends},
		"WebP of claimed length":  {append([]byte("RIFF\xff\xff\xff\xffWEBPVP8 \xff\xff\xff\x7f"), webp[20:]...), "is a damaged WebP image" + ends},
		"WebP cut":                {webp[:len(webp)-9], "is a damaged WebP image" + ends},
		"WebP cut behind pixels":  {append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(webp)+92)), webp[8:]...), "is a damaged WebP image" + ends},
		"WebP without pixels":     {webpFile(bytes.Repeat(box("ICCP", nil), 2000)), "is a damaged WebP image" + bad},
		"animated WebP":           {webpFile(box("VP8X", []byte("\x02\x00\x00\x00\x09\x00\x00\x09\x00\x00")), box("ANIM", make([]byte, 6))), moving},
		"animated WebP, unsaid":   {webpFile(box("ANIM", make([]byte, 6))), moving},
		"WebP of other size":      {webpFile(box("VP8X", []byte("\x00\x00\x00\x00\x09\x00\x00\x09\x00\x00")), webp[12:]), "is a damaged WebP image" + bad},
		"WebP of 16384 squared":   {webpFile(box("VP8L", []byte("\x2f\xff\xff\xff\x0f\x00\x00\x00\x00\x00"))), "is a WebP image of 16384 x 16384 pixels" + memory},
		"BMP of most pixels":      {bareBMP(40, 0x7fffffff, 0x7fffffff, 24, 0), "is a BMP image of 2147483647 x 2147483647 pixels" + memory},
		"BMP of least height":     {bareBMP(40, 1, -1<<31, 24, 0), "is a BMP image of 1 x 2147483648 pixels" + memory},
		"BMP of no pixels":        {bareBMP(40, 0, 0, 24, 0), "is a damaged BMP image" + none},
		"BMP of negative width":   {bareBMP(40, -5, 5, 24, 0), "is a damaged BMP image" + none},
		"BMP cut":                 {bareBMP(40, 5, 5, 24, 0), "is a damaged BMP image" + ends},
		"BMP cut in the header":   {bareBMP(40, 5, 5, 24, 0)[:20], "is a damaged BMP image" + ends},
		"BMP of run lengths":      {bareBMP(40, 5, 5, 24, 1), "is a BMP image" + variant},
		"BMP of OS/2":             {bareBMP(12, 5, 5, 24, 0), "is a BMP image" + variant},
		"TIFF of a loop":          {[]byte("II*\x00\x08\x00\x00\x00\x00\x00\x08\x00\x00\x00"), "is a damaged TIFF image" + none},
		"TIFF of no directory":    {[]byte("II*\x00\xff\xff\xff\x7f"), "is a damaged TIFF image" + ends},
		"TIFF cut":                {[]byte("MM\x00*\x00"), "is a damaged TIFF image" + ends},
		"TIFF of many pixels":     {bareTIFF(1, 0, nil, grayTIFF(30000, 30000)...), "is a TIFF image of 30000 x 30000 pixels" + memory},
		"TIFF of too few pixels":  {bareTIFF(1, 0, nil, grayTIFF(300, 300)...), "is a damaged TIFF image" + ends},
		"TIFF of large tiles":     {bareTIFF(1, 0, nil, grayTIFF(1, 60_000_000, [2]uint32{322, 1024}, [2]uint32{323, 8})...), "is a damaged TIFF image" + bad},
		"TIFF of one large strip": {bareTIFF(1, 0, nil, [][2]uint32{{256, 6000}, {257, 6000}, {258, 8}, {259, 8}, {262, 1}, {273, 8}, {279, 9}}...), "is a TIFF image of 6000 x 6000 pixels" + memory},
		"TIFF of JPEG":            {bareTIFF(1, 0, make([]byte, 9), [][2]uint32{{256, 3}, {257, 3}, {258, 8}, {259, 7}, {262, 1}, {273, 8}, {279, 9}}...), "is a TIFF image" + variant},
		"TIFF of floats":          {bareTIFF(1, 0, make([]byte, 36), [][2]uint32{{256, 3}, {257, 3}, {258, 32}, {259, 1}, {262, 1}, {273, 8}, {279, 36}, {339, 3}}...), "is a TIFF image" + variant},
		"TIFF of floats, odd":     {bareTIFF(1, 0, make([]byte, 9), [][2]uint32{{258, 32}, {262, 1}, {339, 3}}...), "is a TIFF image" + variant},
		"TIFF of other colours":   {bareTIFF(1, 0, make([]byte, 9), [][2]uint32{{256, 3}, {257, 3}, {258, 8}, {262, 6}}...), "is a TIFF image" + variant},
	}
}

// bareBMP returns the header of a BMP file.
func bareBMP(header, w, h int32, bits, compression uint16) []byte {
	b := append([]byte("BM"), make([]byte, 8)...)
	for _, v := range []int32{54, header, w, h} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, v := range []uint16{1, bits, compression} {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return append(b, make([]byte, 22)...)
}

func TestFaults(t *testing.T) {
	for name, tc := range wrong(t) {
		p, err := Fit(tc.data)
		var f *fault.Fault
		if !errors.As(err, &f) {
			t.Errorf("%s: %v, %v; want a fault", name, p, err)
			continue
		}
		if err.Error() != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, err, tc.want)
		}
	}
	_, err := FitImage(image.NewRGBA(image.Rectangle{}), true)
	if err == nil || err.Error() != "is a picture without pixels. Make it again or use an undamaged copy." {
		t.Error(err)
	}
}

// TestBombs checks that a file that is too large is refused without taking memory for it.
func TestBombs(t *testing.T) {
	for name, tc := range wrong(t) {
		if !strings.Contains(tc.want, "too much memory") && !strings.Contains(tc.want, "too long") && !strings.HasPrefix(name, "TIFF of") && !strings.HasPrefix(name, "WebP of") {
			continue
		}
		for call, f := range map[string]func(){
			"Inspect": func() { Inspect(bytes.NewReader(tc.data), int64(len(tc.data))) },
			"Fit":     func() { Fit(tc.data) },
		} {
			if n := allocated(f); n > 1<<20 {
				t.Errorf("%s of %s takes %d bytes", call, name, n)
			}
		}
	}
}

// allocated returns the number of bytes that a call allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// counting is a file that counts the bytes read, and may fail.
type counting struct {
	data []byte
	read int
	err  error
}

func (c *counting) ReadAt(b []byte, off int64) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	c.read += len(b)
	return bytes.NewReader(c.data).ReadAt(b, off)
}

func TestInspect(t *testing.T) {
	xmp := bytes.Repeat(segment(jpegAPP1, make([]byte, 60000)), 50)
	woven := ihdr(300, 200, 8, 0)
	woven[28] = 1
	binary.BigEndian.PutUint32(woven[29:], crc32.ChecksumIEEE(woven[12:29]))
	for name, tc := range map[string]struct {
		data []byte
		want Info
	}{
		"PNG":                 {pngOf(t, noise(300, 200)), Info{"image/png", 300, 200, 4*300*200 + 2*901}},
		"clear gray PNG":      {insert(pngFile(300, 200, 8, 0, nil), pngStart, chunk("tRNS", []byte{0, 1})), Info{"image/png", 300, 200, 4*300*200 + 2*301}},
		"gray PNG":            {pngFile(300, 200, 8, 0, nil), Info{"image/png", 300, 200, 300*200 + 2*301}},
		"interlaced PNG":      {append(woven, chunk("IDAT", nil)...), Info{"image/png", 300, 200, 300*200*3/2 + 2*301}},
		"JPEG":                {jpegOf(t, quarters(300, 200)), Info{"image/jpeg", 300, 200, 304 * 208 * 3 / 2}},
		"JPEG with much else": {insert(jpegOf(t, quarters(300, 200)), 2, xmp), Info{"image/jpeg", 300, 200, 304 * 208 * 3 / 2}},
		"turned JPEG":         {exif(jpegOf(t, quarters(300, 200)), 6, binary.BigEndian), Info{"image/jpeg", 300, 200, 304 * 208 * 3 / 2}},
		"progressive JPEG":    {stored(t, "progressive.jpeg"), Info{"image/jpeg", 150, 103, 160 * 112 * 3 / 2 * 5}},
		"CMYK JPEG":           {stored(t, "cmyk.jpeg"), Info{"image/jpeg", 150, 103, 152*104*4 + 150*103*4}},
		"GIF":                 {bareGIF(300, 200, 1), Info{"image/gif", 300, 200, 6 * 300 * 200}},
		"lossy WebP":          {stored(t, "lossy.webp"), Info{"image/webp", 150, 103, 160 * 112 * 3 / 2}},
		"BMP":                 {bmpOf(t, quarters(300, 200)), Info{"image/bmp", 300, 200, 4 * 300 * 200}},
		"TIFF":                {tiffOf(t, quarters(300, 200), tiff.Deflate), Info{"image/tiff", 300, 200, 4*300*200 + 16*300*200 + 20}},
	} {
		file := &counting{data: append(tc.data, make([]byte, 4<<20)...)}
		got, err := Inspect(file, int64(len(file.data)))
		if got != tc.want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tc.want)
		}
		if file.read > 64<<10 {
			t.Errorf("%s: %d bytes read", name, file.read)
		}
	}
}

func TestInspectLimits(t *testing.T) {
	file := &counting{data: append(pngOf(t, quarters(60, 40)), make([]byte, 100)...)}
	_, err := Inspect(file, maxFile+1)
	if err == nil || err.Error() != "is a PNG image of 101 MiB, which is too large a file to decode. Make a copy of it of at most 100 MiB." {
		t.Error(err)
	}
	// Markers everywhere: the number of bytes read is still limited.
	file = &counting{data: append([]byte("\xff\xd8"), bytes.Repeat([]byte{0xff, jpegRST0}, 4<<20)...)}
	if _, err := Inspect(file, int64(len(file.data))); err == nil || file.read > maxHeader {
		t.Errorf("%v after %d bytes", err, file.read)
	}
	file = &counting{err: io.ErrClosedPipe}
	if _, err := Inspect(file, 100); !errors.Is(err, io.ErrClosedPipe) || err.Error() != "reading the header of an image: io: read/write on closed pipe" {
		t.Errorf("%v, want the error of the file", err)
	}
	// Inspect already refuses a picture that the header rules out.
	files := wrong(t)
	for _, name := range []string{"WebP of claimed length", "TIFF of large tiles", "JPEG of kept blocks", "PNG bomb"} {
		data, want := files[name].data, files[name].want
		if _, err := Inspect(bytes.NewReader(data), int64(len(data))); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	// The file shrinks meanwhile.
	if _, err := Inspect(bytes.NewReader(file.data), 100); err == nil {
		t.Error("a file that is gone was inspected")
	}
}

func TestPanicIsDamage(t *testing.T) {
	f := *formats[0]
	f.decode = func(io.Reader) (image.Image, error) { panic("index out of range") }
	data := pngOf(t, quarters(6, 4))
	h, err := readHeader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	h.format = &f
	_, err = decode(h, data)
	if err == nil || err.Error() != "is a damaged PNG image: its contents are not valid. Make it again or use an undamaged copy." {
		t.Error(err)
	}
}

// smallFiles returns one or more files of each format.
func smallFiles(t testing.TB) map[string][]byte {
	m := noise(20, 15)
	return map[string][]byte{
		"PNG":         pngOf(t, m),
		"palette PNG": pngOf(t, paletted(m)),
		"JPEG":        exif(jpegOf(t, m), 6, binary.LittleEndian),
		"progressive": stored(t, "progressive.jpeg"),
		"GIF":         gifOf(t, paletted(m), paletted(quarters(9, 9))),
		"lossy":       stored(t, "lossy.webp"),
		"lossless":    stored(t, "lossless.webp"),
		"alpha":       stored(t, "alpha.webp"),
		"BMP":         bmpOf(t, m),
		"TIFF":        tiffOf(t, m, tiff.Uncompressed),
		"deflated":    tiffOf(t, m, tiff.Deflate),
	}
}

// sound checks that Fit returns a fault or a picture within the limits, and stays within
// the estimated memory.
func sound(t testing.TB, data []byte) error {
	t.Helper()
	var p *Picture
	var err error
	info, refused := Inspect(bytes.NewReader(data), int64(len(data)))
	took := allocated(func() { p, err = Fit(data) })
	var f *fault.Fault
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("%v is no fault", err)
	}
	if err == nil && (len(p.Data) > MaxBytes || max(p.Width, p.Height) > MaxSide || p.Width < 1 || p.Height < 1) {
		t.Fatalf("%d x %d pixels in %d bytes", p.Width, p.Height, len(p.Data))
	}
	if refused != nil && (err == nil || err.Error() != refused.Error()) {
		t.Fatalf("Inspect says %v, Fit %v", refused, err)
	}
	// Besides decoding: scaled copies of less than twice MaxSide and of MaxSide, the
	// encoders, and the file. Freed memory counts as well.
	if bound := uint64(info.Memory)*2 + uint64(len(data))*8 + 256<<20; took > bound {
		t.Fatalf("%d bytes taken, estimated %d", took, info.Memory)
	}
	return err
}

func TestCut(t *testing.T) {
	for name, data := range smallFiles(t) {
		for n := 0; n < len(data); n += max(1, len(data)/cuts) {
			err := sound(t, data[:n:n])
			if err == nil && name != "BMP" && name != "TIFF" && name != "deflated" {
				t.Fatalf("%s: the first %d of %d bytes pass", name, n, len(data))
			}
			if err != nil && n >= startBytes && !strings.Contains(err.Error(), "ends early") {
				t.Fatalf("%s: the first %d of %d bytes: %v", name, n, len(data), err)
			}
		}
	}
}

func TestFlipped(t *testing.T) {
	for name, data := range smallFiles(t) {
		r := rand.New(rand.NewPCG(3, uint64(len(data))))
		failed := 0
		for range flips {
			b := bytes.Clone(data)
			for range 1 + r.IntN(4) {
				at := r.IntN(len(b))
				if r.IntN(2) == 0 {
					at = r.IntN(min(len(b), 100)) // changes in headers do the most harm
				}
				b[at] = byte(r.Uint32())
			}
			if sound(t, b) != nil {
				failed++
			}
		}
		if failed == 0 {
			t.Errorf("%s: no change was noticed", name)
		}
	}
}

func FuzzFit(f *testing.F) {
	for _, data := range smallFiles(f) {
		if len(data) < 4000 {
			f.Add(data)
		}
	}
	f.Add(bareGIF(1, 1, 3))
	f.Add(bareTIFF(2, 14, make([]byte, 6), grayTIFF(3, 2)...))
	f.Fuzz(func(t *testing.T, data []byte) { sound(t, data) })
}
