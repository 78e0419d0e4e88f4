package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// corners lists the colours of the four parts that quarters draws, clockwise from the top
// left.
var corners = [4]color.RGBA{{220, 30, 30, 255}, {30, 200, 40, 255}, {40, 40, 220, 255}, {230, 220, 40, 255}}

// quarters returns a picture in which every orientation looks different.
func quarters(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for i, r := range []image.Rectangle{
		image.Rect(0, 0, w/2, h/2), image.Rect(w/2, 0, w, h/2), image.Rect(w/2, h/2, w, h), image.Rect(0, h/2, w/2, h),
	} {
		draw.Draw(m, r, image.NewUniform(corners[i]), image.Point{}, draw.Src)
	}
	return m
}

// noise returns a picture that does not compress.
func noise(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = byte(r.Uint32())
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	return m
}

// into draws a picture on another one of its size.
func into(dst draw.Image, src image.Image) draw.Image {
	draw.Draw(dst, dst.Bounds(), src, src.Bounds().Min, draw.Src)
	return dst
}

func paletted(m image.Image) *image.Paletted {
	some := append(color.Palette{color.Black, color.White, color.Gray{Y: 128}}, palette.WebSafe[:100:100]...)
	for _, c := range corners {
		some = append(some, c)
	}
	p := image.NewPaletted(m.Bounds(), some)
	into(p, m)
	return p
}

func pngOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gifOf(t testing.TB, frames ...*image.Paletted) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: frames, Delay: make([]int, len(frames))}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func bmpOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := bmp.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tiffOf(t testing.TB, m image.Image, c tiff.CompressionType) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tiff.Encode(&b, m, &tiff.Options{Compression: c}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func stored(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exif inserts EXIF data with an orientation into a JPEG file.
func exif(file []byte, turn int, order binary.ByteOrder) []byte {
	b := []byte("Exif\x00\x00MM\x00*")
	if order == binary.LittleEndian {
		b = []byte("Exif\x00\x00II*\x00")
	}
	put := func(v any) { b, _ = binary.Append(b, order, v) }
	put(uint32(8))
	put(uint16(1))
	put([]uint16{tagOrientation, 3, 0, 0})
	order.PutUint32(b[len(b)-4:], 1)
	put([]uint16{uint16(turn), 0})
	put(uint32(0))
	return insert(file, 2, segment(jpegAPP1, b))
}

func segment(marker byte, body []byte) []byte {
	n := len(body) + 2
	return append([]byte{0xff, marker, byte(n >> 8), byte(n)}, body...)
}

func insert(file []byte, at int, b []byte) []byte {
	return append(append(append([]byte(nil), file[:at]...), b...), file[at:]...)
}

// chunk returns a chunk of a PNG file.
func chunk(name string, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = append(append(b, name...), body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// ihdr returns the signature and the header of a PNG file.
func ihdr(w, h uint32, depth, colours byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, w)
	b = binary.BigEndian.AppendUint32(b, h)
	return append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(b, depth, colours, 0, 0, 0))...)
}

func pngFile(w, h uint32, depth, colours byte, pixels []byte) []byte {
	return append(append(ihdr(w, h, depth, colours), chunk("IDAT", pixels)...), chunk("IEND", nil)...)
}

// deflated returns the compressed form of b and n zero bytes.
func deflated(n int, b ...byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	z.Write(b)
	for zero := make([]byte, 1<<16); n > 0; n -= len(zero) {
		z.Write(zero[:min(n, len(zero))])
	}
	z.Close()
	return out.Bytes()
}

// bareGIF returns a GIF file whose frames have one pixel each.
func bareGIF(w, h uint16, frames int) []byte {
	b := binary.LittleEndian.AppendUint16([]byte("GIF89a"), w)
	b = binary.LittleEndian.AppendUint16(b, h)
	b = append(b, "\x80\x00\x00\x00\x00\x00\xff\xff\xff"...)
	return append(b, strings.Repeat(",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00", frames)+";"...)
}

// bareTIFF returns a TIFF file whose pages have the same tags, each of one value, with
// data at offset 8. The last page links to the offset end.
func bareTIFF(pages int, end uint32, data []byte, tags ...[2]uint32) []byte {
	order := binary.LittleEndian
	b := order.AppendUint32([]byte("II*\x00"), uint32(8+len(data)))
	b = append(b, data...)
	for i := range pages {
		b = order.AppendUint16(b, uint16(len(tags)))
		for _, tag := range tags {
			b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, uint16(tag[0])), 4), 1)
			b = order.AppendUint32(b, tag[1])
		}
		next := uint32(len(b) + 4)
		if i == pages-1 {
			next = end
		}
		b = order.AppendUint32(b, next)
	}
	return b
}

// grayTIFF returns the tags of an uncompressed gray picture at offset 8.
func grayTIFF(w, h uint32, more ...[2]uint32) [][2]uint32 {
	tags := [][2]uint32{{256, w}, {257, h}, {258, 8}, {259, 1}, {262, 1}, {273, 8}}
	for _, m := range more {
		if m[0] < 279 {
			tags = append(tags, m)
		}
	}
	tags = append(tags, [2]uint32{279, w * h})
	for _, m := range more {
		if m[0] > 279 {
			tags = append(tags, m)
		}
	}
	return tags
}

// box returns a chunk of a WebP file.
func box(name string, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(body)))
	b = append(b, body...)
	return append(b, make([]byte, len(body)&1)...)
}

func webpFile(boxes ...[]byte) []byte {
	body := append([]byte("WEBP"), bytes.Join(boxes, nil)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}
