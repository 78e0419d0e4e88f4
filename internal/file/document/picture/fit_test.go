package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/image/tiff"
)

// fitted calls Fit and checks the properties common to all results: that the picture can
// be decoded again, in the stated format and size, within the limits.
func fitted(t *testing.T, data []byte) (*Picture, image.Image) {
	t.Helper()
	p, err := Fit(data)
	if err != nil {
		t.Fatal(err)
	}
	return p, shown(t, p)
}

func shown(t *testing.T, p *Picture) image.Image {
	t.Helper()
	h, err := readHeader(bytes.NewReader(p.Data), int64(len(p.Data)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := decode(h, p.Data)
	if err != nil {
		t.Fatal(err)
	}
	w, ht := m.Bounds().Dx(), m.Bounds().Dy()
	if h.turn >= 5 {
		w, ht = ht, w
	}
	if h.format.mime != p.MIMEType || !h.format.accepted || p.Width != w || p.Height != ht {
		t.Errorf("is said to be %s of %d x %d, is %s of %d x %d", p.MIMEType, p.Width, p.Height, h.format.mime, w, ht)
	}
	if max(p.Width, p.Height) > MaxSide || len(p.Data) > MaxBytes {
		t.Errorf("%d x %d pixels in %d bytes is over the limits", p.Width, p.Height, len(p.Data))
	}
	return m
}

// near reports whether two colours look alike. JPEG preserves no colour exactly.
func near(a, b color.Color) bool {
	r, g, bl, al := a.RGBA()
	r2, g2, b2, a2 := b.RGBA()
	far := func(x, y uint32) bool { return max(x, y)-min(x, y) > 0x1400 }
	return !far(r, r2) && !far(g, g2) && !far(bl, b2) && !far(al, a2)
}

// cornersOf returns the colours in the middle of each quarter.
func cornersOf(m image.Image) [4]color.Color {
	b := m.Bounds()
	x, y := b.Dx()/4, b.Dy()/4
	return [4]color.Color{m.At(x, y), m.At(b.Dx()-1-x, y), m.At(b.Dx()-1-x, b.Dy()-1-y), m.At(x, b.Dy()-1-y)}
}

func wantCorners(t *testing.T, m image.Image, order [4]int) {
	t.Helper()
	for i, got := range cornersOf(m) {
		if !near(got, corners[order[i]]) {
			t.Errorf("quarter %d is %v, want %v", i, got, corners[order[i]])
		}
	}
}

func TestFit(t *testing.T) {
	small, large := quarters(60, 40), quarters(3000, 120)
	wide := image.Rect(0, 0, 3000, 120)
	const png, jpeg, gif, webp, bmp, tif = "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff"
	as := func(from, to string, w, h, ow, oh int) Picture {
		return Picture{MIMEType: to, Width: w, Height: h, OriginalMIMEType: from, OriginalWidth: ow, OriginalHeight: oh}
	}
	passed := func(kind string, w, h int) Picture { return as(kind, kind, w, h, w, h) }
	shrunk := func(from, to string) Picture { return as(from, to, 2000, 80, 3000, 120) }
	for name, tc := range map[string]struct {
		data    []byte
		want    Picture
		corners bool // whether the colours are those of quarters
	}{
		"PNG":                   {pngOf(t, small), passed(png, 60, 40), true},
		"JPEG":                  {jpegOf(t, small), passed(jpeg, 60, 40), true},
		"GIF":                   {gifOf(t, paletted(small)), passed(gif, 60, 40), true},
		"lossy WebP":            {stored(t, "lossy.webp"), passed(webp, 150, 103), false},
		"lossless WebP":         {stored(t, "lossless.webp"), passed(webp, 75, 100), false},
		"WebP with alpha":       {stored(t, "alpha.webp"), passed(webp, 400, 301), false},
		"BMP":                   {bmpOf(t, small), as(bmp, png, 60, 40, 60, 40), true},
		"BMP with a palette":    {bmpOf(t, paletted(small)), as(bmp, png, 60, 40, 60, 40), true},
		"TIFF":                  {tiffOf(t, small, tiff.Uncompressed), as(tif, png, 60, 40, 60, 40), true},
		"deflated TIFF":         {tiffOf(t, small, tiff.Deflate), as(tif, png, 60, 40, 60, 40), true},
		"TIFF of 16 bits":       {tiffOf(t, into(image.NewRGBA64(small.Rect), small), tiff.Uncompressed), as(tif, png, 60, 40, 60, 40), true},
		"PNG of 16 bits":        {pngOf(t, into(image.NewNRGBA64(small.Rect), small)), passed(png, 60, 40), true},
		"progressive JPEG":      {stored(t, "progressive.jpeg"), passed(jpeg, 150, 103), false},
		"CMYK JPEG":             {stored(t, "cmyk.jpeg"), passed(jpeg, 150, 103), false},
		"RGB JPEG":              {stored(t, "rgb.jpeg"), passed(jpeg, 150, 103), false},
		"garbage behind PNG":    {append(pngOf(t, small), "garbage"...), passed(png, 60, 40), true},
		"garbage behind JPEG":   {append(jpegOf(t, small), "garbage"...), passed(jpeg, 60, 40), true},
		"garbage before EOI":    {insert(jpegOf(t, small), len(jpegOf(t, small))-2, []byte("garbage")), passed(jpeg, 60, 40), true},
		"fill before markers":   {insert(jpegOf(t, small), 2, []byte("\xff\xff")), passed(jpeg, 60, 40), true},
		"garbage in the header": {insert(jpegOf(t, small), bytes.Index(jpegOf(t, small), []byte{0xff, 0xc0}), []byte("\x00\x01\xff\x00\xff")), passed(jpeg, 60, 40), true},
		"text that inflates":    {insert(pngOf(t, small), pngStart, chunk("zTXt", append([]byte("k\x00\x00"), deflated(5_000_000)...))), passed(png, 60, 40), true},
		"exactly the side":      {pngOf(t, quarters(2000, 10)), passed(png, 2000, 10), true},
		"one pixel more":        {pngOf(t, quarters(2001, 10)), as(png, png, 2000, 10, 2001, 10), true},
		"large PNG":             {pngOf(t, large), shrunk(png, png), true},
		"large JPEG":            {jpegOf(t, large), shrunk(jpeg, jpeg), true},
		"large GIF":             {gifOf(t, paletted(large)), shrunk(gif, png), true},
		"large BMP":             {bmpOf(t, large), shrunk(bmp, png), true},
		"large TIFF":            {tiffOf(t, large, tiff.Deflate), shrunk(tif, png), true},
		"large PNG of 16 bits":  {pngOf(t, into(image.NewRGBA64(wide), large)), shrunk(png, png), true},
		"large gray PNG":        {pngOf(t, into(image.NewGray(wide), large)), shrunk(png, png), false},
		"large gray 16 bits":    {pngOf(t, into(image.NewGray16(wide), large)), shrunk(png, png), false},
		"large gray JPEG":       {jpegOf(t, into(image.NewGray(wide), large)), shrunk(jpeg, jpeg), false},
		"tall":                  {pngOf(t, image.NewGray(image.Rect(0, 0, 1, 50000))), as(png, png, 1, 2000, 1, 50000), false},
		"wide":                  {pngOf(t, image.NewGray(image.Rect(0, 0, 50000, 1))), as(png, png, 2000, 1, 50000, 1), false},
		"wide and not as thin":  {jpegOf(t, quarters(50000, 12)), as(jpeg, jpeg, 2000, 1, 50000, 12), false},
	} {
		t.Run(name, func(t *testing.T) {
			p, m := fitted(t, tc.data)
			if diff := cmp.Diff(&tc.want, p, cmpopts.IgnoreFields(Picture{}, "Data")); diff != "" {
				t.Error(diff)
			}
			whole := p.MIMEType == p.OriginalMIMEType && p.Width == p.OriginalWidth && p.Height == p.OriginalHeight
			if whole != bytes.Equal(p.Data, tc.data) {
				t.Errorf("passed on as it is: %v, want %v", !whole, whole)
			}
			if tc.corners {
				wantCorners(t, m, [4]int{0, 1, 2, 3})
			}
		})
	}
}

// TestGray checks that a gray picture remains gray: it takes a third of the bytes.
func TestGray(t *testing.T) {
	src := image.NewGray16(image.Rect(0, 0, 2500, 10))
	for x := range 2500 {
		for y := range 10 {
			src.SetGray16(x, y, color.Gray16{Y: uint16(x * 26)})
		}
	}
	_, m := fitted(t, pngOf(t, src))
	g, ok := m.(*image.Gray)
	if !ok {
		t.Fatalf("a gray picture became %T", m)
	}
	for _, x := range []int{0, 500, 1000, 1999} {
		if got, want := int(g.GrayAt(x, 4).Y), x*2500/2000*26>>8; got < want-1 || got > want+1 {
			t.Errorf("column %d is %d, want %d", x, got, want)
		}
	}
}

func TestTurn(t *testing.T) {
	// The expected positions of the stored quarters. The comments state where EXIF places
	// the first row and the first column.
	file := jpegOf(t, quarters(2400, 120))
	for turn, order := range map[int][4]int{
		1: {0, 1, 2, 3}, // top, left
		2: {1, 0, 3, 2}, // top, right
		3: {2, 3, 0, 1}, // bottom, right
		4: {3, 2, 1, 0}, // bottom, left
		5: {0, 3, 2, 1}, // left, top
		6: {3, 0, 1, 2}, // right, top
		7: {2, 1, 0, 3}, // right, bottom
		8: {1, 2, 3, 0}, // left, bottom
		0: {0, 1, 2, 3}, // no orientation
		9: {0, 1, 2, 3},
	} {
		for _, bytes := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			w, h, sw, sh := 2400, 120, 2000, 100
			if turn >= 5 && turn <= 8 {
				w, h, sw, sh = h, w, sh, sw
			}
			p, m := fitted(t, exif(file, turn, bytes))
			if p.OriginalWidth != w || p.OriginalHeight != h || p.Width != sw || p.Height != sh {
				t.Errorf("turn %d: %d x %d from %d x %d", turn, p.Width, p.Height, p.OriginalWidth, p.OriginalHeight)
			}
			wantCorners(t, m, order)
			if t.Failed() {
				t.Fatalf("turn %d in %v is wrong", turn, bytes)
			}
		}
	}
	// A small picture is turned, too.
	small, m := fitted(t, exif(jpegOf(t, quarters(60, 40)), 6, binary.BigEndian))
	if small.Width != 40 || small.OriginalHeight != 60 {
		t.Errorf("%d x %d of %d x %d", small.Width, small.Height, small.OriginalWidth, small.OriginalHeight)
	}
	wantCorners(t, m, [4]int{3, 0, 1, 2})
	// TIFF has the same tag.
	tif := bareTIFF(1, 0, []byte{10, 20, 30, 40, 50, 60}, grayTIFF(3, 2, [2]uint32{tagOrientation, 6})...)
	p, m := fitted(t, tif)
	if p.Width != 2 || p.Height != 3 || !near(m.At(1, 0), color.Gray{Y: 10}) || !near(m.At(0, 2), color.Gray{Y: 60}) {
		t.Errorf("a turned TIFF image is %d x %d with %v", p.Width, p.Height, m.At(1, 0))
	}
}

func TestTransparency(t *testing.T) {
	clear := image.NewNRGBA(image.Rect(0, 0, 5000, 100)) // averaged and then scaled
	draw.Draw(clear, image.Rect(0, 0, 2500, 100), image.NewUniform(corners[0]), image.Point{}, draw.Src)
	p, m := fitted(t, pngOf(t, clear))
	if p.MIMEType != "image/png" || !near(m.At(10, 10), corners[0]) || !near(m.At(1900, 10), color.Transparent) {
		t.Errorf("%s with %v and %v", p.MIMEType, m.At(10, 10), m.At(1900, 10))
	}
	// Too large as PNG, so drawn on white. Half of the picture is transparent, partly or
	// fully.
	rough := noise(900, 700)
	for i := 3; i < len(rough.Pix)/2; i += 4 {
		rough.Pix[i] = 0
	}
	p, m = fitted(t, pngOf(t, rough))
	if p.MIMEType != "image/jpeg" || !near(m.At(10, 10), color.White) {
		t.Errorf("%s with %v, want white JPEG", p.MIMEType, m.At(10, 10))
	}
	// A lossy picture with transparency that is too large stays transparent.
	wide := image.NewNYCbCrA(image.Rect(0, 0, 2500, 8), image.YCbCrSubsampleRatio420)
	got, err := FitImage(wide, false)
	if err != nil || got.MIMEType != "image/png" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNoise fits pictures that no encoder makes small.
func TestNoise(t *testing.T) {
	m := noise(900, 700)
	rough := image.NewPaletted(m.Rect, paletted(quarters(2, 2)).Palette)
	for i := range rough.Pix {
		rough.Pix[i] = m.Pix[4*i] % byte(len(rough.Palette))
	}
	for name, data := range map[string][]byte{
		"PNG":     pngOf(t, m),
		"JPEG":    jpegOf(t, m),
		"gray":    pngOf(t, into(image.NewGray(m.Rect), m)),
		"palette": gifOf(t, rough),
		"wide":    bmpOf(t, noise(2500, 300)),
	} {
		p, _ := fitted(t, data)
		if p.MIMEType != "image/jpeg" || max(p.Width, p.Height) < 600 || len(p.Data) < MaxBytes/3 {
			t.Errorf("%s: %s of %d x %d in %d bytes is less than could be shown", name, p.MIMEType, p.Width, p.Height, len(p.Data))
		}
	}
}

func TestFrames(t *testing.T) {
	frame := paletted(quarters(60, 40))
	part := paletted(quarters(30, 20))
	part.Rect = part.Rect.Add(image.Pt(20, 10))
	large := paletted(quarters(2400, 120))
	actl := append(chunk("acTL", []byte{0, 0, 0, 7, 0, 0, 0, 0}), chunk("tEXt", []byte("a\x00b"))...)
	gray := grayTIFF(3, 2)
	for name, tc := range map[string]struct {
		data []byte
		want int
	}{
		"a GIF within the limits is whole":  {gifOf(t, frame, frame, part), 0},
		"of a large GIF the first is shown": {gifOf(t, large, frame, part), 3},
		"one frame is no animation":         {gifOf(t, large), 0},
		"very many frames":                  {bareGIF(1, 1, 100_000), 100_000},
		"many frames within the limits":     {bareGIF(1, 1, 30_000), 0},
		"animated PNG":                      {insert(pngOf(t, quarters(2400, 120)), pngStart, actl), 7},
		"animated PNG within the limits":    {insert(pngOf(t, quarters(60, 40)), pngStart, actl), 0},
		"pages":                             {bareTIFF(3, 0, make([]byte, 6), gray...), 3},
		"one page":                          {bareTIFF(1, 0, make([]byte, 6), gray...), 0},
		"pages in a loop":                   {bareTIFF(3, 14, make([]byte, 6), gray...), 3},
		"pages that lead nowhere":           {bareTIFF(3, 1<<30, make([]byte, 6), gray...), 3},
	} {
		if p, _ := fitted(t, tc.data); p.Frames != tc.want {
			t.Errorf("%s: %d frames, want %d", name, p.Frames, tc.want)
		}
	}
}

// TestPartOfScreen fits a picture whose first frame covers only a part of the screen.
func TestPartOfScreen(t *testing.T) {
	part := *paletted(quarters(100, 100))
	part.Rect = part.Rect.Add(image.Pt(2000, 200))
	data := gifOf(t, &part)
	binary.LittleEndian.PutUint16(data[6:], 2400)
	binary.LittleEndian.PutUint16(data[8:], 600)
	p, m := fitted(t, data)
	if p.Width != 2000 || p.Height != 500 || !near(m.At(10, 10), color.Transparent) || !near(m.At(1680, 180), corners[0]) {
		t.Errorf("%d x %d with %v and %v", p.Width, p.Height, m.At(10, 10), m.At(1680, 180))
	}
}

func TestFitImage(t *testing.T) {
	for name, tc := range map[string]struct {
		img   image.Image
		sharp bool
		want  Picture
	}{
		"sharp":         {quarters(60, 40), true, Picture{MIMEType: "image/png", Width: 60, Height: 40, OriginalWidth: 60, OriginalHeight: 40}},
		"photograph":    {quarters(60, 40), false, Picture{MIMEType: "image/jpeg", Width: 60, Height: 40, OriginalWidth: 60, OriginalHeight: 40}},
		"part of one":   {shifted(quarters(60, 40)), false, Picture{MIMEType: "image/jpeg", Width: 60, Height: 40, OriginalWidth: 60, OriginalHeight: 40}},
		"part, smaller": {shifted(quarters(5000, 250)), true, Picture{MIMEType: "image/png", Width: 2000, Height: 100, OriginalWidth: 5000, OriginalHeight: 250}},
		"part, palette": {shifted(paletted(quarters(60, 40))), true, Picture{MIMEType: "image/png", Width: 60, Height: 40, OriginalWidth: 60, OriginalHeight: 40}},
	} {
		p, err := FitImage(tc.img, tc.sharp)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&tc.want, p, cmpopts.IgnoreFields(Picture{}, "Data")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		wantCorners(t, shown(t, p), [4]int{0, 1, 2, 3})
	}
}

// shifted moves the bounds of a picture, as those of a part of a larger picture.
func shifted(m image.Image) image.Image {
	switch m := m.(type) {
	case *image.RGBA:
		m.Rect = m.Rect.Add(image.Pt(7, -9))
	case *image.Paletted:
		m.Rect = m.Rect.Add(image.Pt(7, -9))
	}
	return m
}
