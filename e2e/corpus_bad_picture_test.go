//go:build unix

package e2e

import (
	"bytes"
	"compress/zlib"
	byteorder "encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

const again = `\. Make it again or use an undamaged copy\.`

// damaged returns the expected message for a damaged picture.
func damaged(format, why string) string {
	return `is a damaged ` + format + ` image: ` + why + again
}

const endsEarly = "the data ends early"

func tooLarge(format string, w, h int) string {
	return fmt.Sprintf(`is a %s image of %d x %d pixels, which takes too much memory to decode\. .+`, format, w, h)
}

// chunk returns a chunk of a PNG file.
func chunk(name, data string) string {
	b := byteorder.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, name...), data...)
	return string(byteorder.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:])))
}

const pngMark = "\x89PNG\r\n\x1a\n"

// rawPNG returns a PNG file with an arbitrary header, followed by chunks and the end.
func rawPNG(w, h uint32, depth, colour byte, chunks ...string) string {
	header := byteorder.BigEndian.AppendUint32(byteorder.BigEndian.AppendUint32(nil, w), h)
	header = append(header, depth, colour, 0, 0, 0)
	return pngMark + chunk("IHDR", string(header)) + strings.Join(chunks, "") + chunk("IEND", "")
}

func zlibOf(c *corpus, data []byte) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := w.Write(data)
	c.must(err)
	c.must(w.Close())
	return b.String()
}

// addBadPictures adds pictures that are cut, altered or have false headers.
func addBadPictures(c *corpus) {
	for _, p := range c.small() {
		// Without a whole header, the format may not be recognized.
		none := damaged(p.name, ".+") + `|is a binary file \(.+\) of \d+ bytes\. .+`
		for _, n := range []int{3, 6, 9, 14, 20} {
			name := fmt.Sprintf("cut/%s_to_%d", p.name, n)
			c.write(name, p.data[:n])
			if strings.IndexByte(p.data[:n], 0) < 0 && (n < 8 || p.data[0] == 'R') && p.name != "JPEG" {
				c.read(name, `1\t.+`) // it may be text as well
				continue
			}
			c.refuse(name, `(`+none+`)`)
		}
		for _, percent := range []int{30, 60, 90} {
			c.refuses(fmt.Sprintf("cut/%s_to_%d_percent", p.name, percent), p.data[:len(p.data)*percent/100], damaged(p.name, endsEarly))
		}
		if p.name != "TIFF" { // its last bytes only state that no further picture follows
			c.refuses(fmt.Sprintf("cut/%s_by_1", p.name), p.data[:len(p.data)-1], damaged(p.name, endsEarly))
		}
	}
	addBadPNGs(c)
	tail := "\x00\x00\x00\x00"
	c.refuses("img/huge.jpg", "\xff\xd8\xff\xc0\x00\x0b\x08\xff\xff\xff\xff\x01\x01\x11\x00\xff\xd9", tooLarge("JPEG", 65535, 65535))
	c.refuses("img/start.jpg", "\xff\xd8\xff\xe0\x00\x10JFIF", damaged("JPEG", endsEarly))
	c.refuses("img/no_scan.jpg", "\xff\xd8\xff\xd9"+tail, damaged("JPEG", ".+"))
	c.refuses("img/huge.gif", "GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x02D\x01\x00;", tooLarge("GIF", 65535, 65535))
	c.refuses("img/outside.gif", "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x09\x00\x09\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;", damaged("GIF", ".+"))
	many := "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff" + strings.Repeat(",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00", 100_000) + ";"
	c.picture("img/100000_frames.gif", many, "image/gif", 1, 1, `, the first of 100000 frames; shown as image/png, 1 x 1 pixels, \d+ bytes`)
	c.refuses("img/bad.webp", "RIFF\xff\xff\xff\xffWEBPVP8L\xff\xff\xff\xff/", damaged("WebP", endsEarly))
	c.refuses("img/animated.webp", "RIFF\x2a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x09\x00\x00\x09\x00\x00ANIM\x06\x00\x00\x00"+strings.Repeat("\x00", 20), `is an animated WebP image, which cannot be decoded\. Convert its first frame to PNG\.`)
	c.refuses("img/loop.tif", "II*\x00\x08\x00\x00\x00\x00\x00\x08\x00\x00\x00", damaged("TIFF", ".+"))
	c.refuses("img/no_directory.tif", "MM\x00*\xff\xff\xff\xff"+tail, damaged("TIFF", endsEarly))
	bmp := "BM" + strings.Repeat("\x00", 8) + "\x36\x00\x00\x00\x28\x00\x00\x00"
	c.refuses("img/huge.bmp", bmp+"\xff\xff\xff\x7f\xff\xff\xff\x7f\x01\x00\x18\x00"+strings.Repeat("\x00", 24), tooLarge("BMP", 1<<31-1, 1<<31-1))
	c.refuses("img/rle.bmp", bmp+"\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x08\x00\x01"+strings.Repeat("\x00", 23), `is a BMP image of a variant that cannot be decoded\. Convert it to PNG\.`)
}

// addBadPNGs adds PNG files with the faults and tricks of the format.
func addBadPNGs(c *corpus) {
	pixel := chunk("IDAT", zlibOf(c, []byte{0, 255, 0, 0}))
	whole := rawPNG(1, 1, 8, 2, pixel)
	c.refuses("img/claims_65535.png", rawPNG(65535, 65535, 8, 0, chunk("IDAT", zlibOf(c, []byte{0}))), tooLarge("PNG", 65535, 65535))
	c.refuses("img/claims_most.png", rawPNG(1<<31-1, 1<<31-1, 16, 6, pixel), tooLarge("PNG", 1<<31-1, 1<<31-1))
	c.refuses("img/bomb.png", rawPNG(20_000, 20_000, 1, 0, chunk("IDAT", zlibOf(c, make([]byte, 2501*20_000)))), tooLarge("PNG", 20_000, 20_000))
	c.refuses("img/no_size.png", rawPNG(0, 0, 8, 2), damaged("PNG", "its width or height is 0"))
	c.refuses("img/no_width.png", rawPNG(0, 9, 8, 2, pixel), damaged("PNG", "its width or height is 0"))
	c.refuses("img/bad_checksum.png", strings.Replace(whole, pixel, pixel[:len(pixel)-3]+"xxx", 1), damaged("PNG", "a checksum does not match"))
	c.refuses("img/bad_zlib.png", rawPNG(1, 1, 8, 2, chunk("IDAT", "no zlib data")), damaged("PNG", ".+"))
	c.refuses("img/few_pixels.png", rawPNG(9, 9, 8, 2, pixel), damaged("PNG", ".+"))
	c.refuses("img/no_pixels.png", rawPNG(1, 1, 8, 2), damaged("PNG", ".+"))
	c.refuses("img/bad_depth.png", rawPNG(1, 1, 7, 2, pixel), damaged("PNG", "its contents are not valid"))
	c.refuses("img/no_header.png", pngMark+pixel+chunk("IEND", ""), damaged("PNG", ".+"))
	c.refuses("img/long_chunk.png", pngMark+"\xff\xff\xff\xffIHDR"+strings.Repeat("\x00", 20), damaged("PNG", ".+"))
	c.refuses("img/mark_and_zeros.png", pngMark+strings.Repeat("0", 50), damaged("PNG", ".+"))
	c.refuses("img/mark_only.png", pngMark, damaged("PNG", endsEarly))
	c.picture("img/text_bomb.png", rawPNG(1, 1, 8, 2, chunk("zTXt", "k\x00\x00"+zlibOf(c, make([]byte, 50_000_000))), pixel), "image/png", 1, 1, "")
}
