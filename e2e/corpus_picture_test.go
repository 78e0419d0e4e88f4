//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"path/filepath"
	"regexp"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// shownAs returns the expected note for a picture that is converted.
func shownAs(mime string, w, h int) string {
	return fmt.Sprintf(`; shown as %s, %d x %d pixels, \d+ bytes`, mime, w, h)
}

// picture creates a file and adds a read of it that answers with one picture.
func (c *corpus) picture(name, data, mime string, w, h int, shown string) {
	s := c.shows(name, data, fmt.Sprintf(`\[\$ROOT/%s: %s, %d x %d pixels, %d bytes%s\]`, regexp.QuoteMeta(name), mime, w, h, len(data), shown))
	s.pictures = 1
}

// encoded returns the output of an encoder.
func encoded(c *corpus, encode func(io.Writer) error) string {
	c.t.Helper()
	var b bytes.Buffer
	c.must(encode(&b))
	return b.String()
}

func pngOf(c *corpus, m image.Image) string {
	return encoded(c, func(w io.Writer) error { return png.Encode(w, m) })
}

func jpegOf(c *corpus, m image.Image) string {
	return encoded(c, func(w io.Writer) error { return jpeg.Encode(w, m, &jpeg.Options{Quality: 95}) })
}

func gifOf(c *corpus, m image.Image) string {
	return encoded(c, func(w io.Writer) error { return gif.Encode(w, m, nil) })
}

func bmpOf(c *corpus, m image.Image) string {
	return encoded(c, func(w io.Writer) error { return bmp.Encode(w, m) })
}

func tiffOf(c *corpus, m image.Image, compression tiff.CompressionType) string {
	return encoded(c, func(w io.Writer) error { return tiff.Encode(w, m, &tiff.Options{Compression: compression}) })
}

// webpOf returns a picture of 150 x 100 pixels; Go has no WebP encoder.
func webpOf(c *corpus) string {
	return c.moduleFile("golang.org/x/image", "testdata/blue-purple-pink.lossless.webp")
}

// gradient returns a picture that compresses well, noise one that does not.
func gradient(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetRGBA(x, y, color.RGBA{uint8(x * 255 / w), uint8(y * 255 / h), 128, 255})
		}
	}
	return m
}

func noise(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(m.Pix) // never fails
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] = 255
	}
	return m
}

// as converts a picture to another colour model.
func as[M draw.Image](m image.Image, to M) M {
	draw.Draw(to, to.Bounds(), m, image.Point{}, draw.Src)
	return to
}

// addPictures adds whole pictures of every format.
func addPictures(c *corpus) {
	m := gradient(60, 40)
	b := m.Bounds()
	c.picture("img/rgb.png", pngOf(c, m), "image/png", 60, 40, "")
	c.picture("img/gray16.png", pngOf(c, as(m, image.NewGray16(b))), "image/png", 60, 40, "")
	c.picture("img/rgb64.png", pngOf(c, as(m, image.NewNRGBA64(b))), "image/png", 60, 40, "")
	c.picture("img/palette.png", pngOf(c, as(m, image.NewPaletted(b, palette.WebSafe))), "image/png", 60, 40, "")
	c.picture("img/1x1.png", pngOf(c, gradient(1, 1)), "image/png", 1, 1, "")
	c.picture("img/is_png.txt", pngOf(c, m), "image/png", 60, 40, "")
	c.picture("img/is_png", pngOf(c, m), "image/png", 60, 40, "")
	c.picture("img/is_png.ipynb", pngOf(c, m), "image/png", 60, 40, "")
	c.picture("img/is_png.pdf", pngOf(c, m), "image/png", 60, 40, "")
	c.picture("img/is_jpeg.png", jpegOf(c, m), "image/jpeg", 60, 40, "")
	c.picture("img/rgb.jpg", jpegOf(c, m), "image/jpeg", 60, 40, "")
	c.picture("img/gray.jpg", jpegOf(c, as(m, image.NewGray(b))), "image/jpeg", 60, 40, "")
	c.picture("img/a.gif", gifOf(c, m), "image/gif", 60, 40, "")
	c.picture("img/a.webp", webpOf(c), "image/webp", 150, 100, "")
	c.picture("img/rgb.bmp", bmpOf(c, m), "image/bmp", 60, 40, shownAs("image/png", 60, 40))
	c.picture("img/gray.bmp", bmpOf(c, as(m, image.NewGray(b))), "image/bmp", 60, 40, shownAs("image/png", 60, 40))
	c.picture("img/plain.tif", tiffOf(c, m, tiff.Uncompressed), "image/tiff", 60, 40, shownAs("image/png", 60, 40))
	c.picture("img/deflate.tif", tiffOf(c, m, tiff.Deflate), "image/tiff", 60, 40, shownAs("image/png", 60, 40))
	// Too large to send unchanged.
	c.picture("img/3000x1500.png", pngOf(c, gradient(3000, 1500)), "image/png", 3000, 1500, shownAs("image/(png|jpeg)", 2000, 1000))
	c.picture("img/3000x1500.jpg", jpegOf(c, gradient(3000, 1500)), "image/jpeg", 3000, 1500, shownAs("image/jpeg", 2000, 1000))
	c.picture("img/1x9000.png", pngOf(c, gradient(1, 9000)), "image/png", 1, 9000, shownAs("image/png", 1, 2000))
	c.picture("img/9000x1.bmp", bmpOf(c, gradient(9000, 1)), "image/bmp", 9000, 1, shownAs("image/png", 2000, 1))
	c.picture("img/noise.png", pngOf(c, noise(900, 900)), "image/png", 900, 900, `; shown as image/jpeg, \d+ x \d+ pixels, \d+ bytes`)
	c.picture("img/noise.jpg", jpegOf(c, noise(1000, 1000)), "image/jpeg", 1000, 1000, `; shown as image/jpeg, \d+ x \d+ pixels, \d+ bytes`)
	// Data after the end of a picture is ignored.
	for _, p := range c.small() {
		if p.name != "TIFF" && p.name != "BMP" {
			c.picture("img/tail."+p.name, p.data+"\x00tail", p.mime, p.w, p.h, "")
		}
	}
	frames := &gif.GIF{Image: []*image.Paletted{}, Config: image.Config{Width: 60, Height: 40}}
	for range 3 {
		frames.Image, frames.Delay = append(frames.Image, as(m, image.NewPaletted(b, palette.Plan9))), append(frames.Delay, 5)
	}
	c.picture("img/animated.gif", encoded(c, func(w io.Writer) error { return gif.EncodeAll(w, frames) }), "image/gif", 60, 40, "(, .*3 frames)?")
}

// small is a small picture of each format.
type small struct {
	name, mime, data string
	w, h             int
}

func (c *corpus) small() []small {
	m := gradient(60, 40)
	return []small{
		{"PNG", "image/png", pngOf(c, m), 60, 40},
		{"JPEG", "image/jpeg", jpegOf(c, m), 60, 40},
		{"GIF", "image/gif", gifOf(c, m), 60, 40},
		{"WebP", "image/webp", webpOf(c), 150, 100},
		{"BMP", "image/bmp", bmpOf(c, m), 60, 40},
		{"TIFF", "image/tiff", tiffOf(c, m, tiff.Deflate), 60, 40},
	}
}

// broken matches those of Go's test pictures that are damaged.
var broken = regexp.MustCompile(`invalid-palette-ref\.tiff$`)

// addRealPictures adds the test pictures of Go's decoders, with all supported colour
// models, depths, interlacings and compressions.
func addRealPictures(c *corpus) {
	goroot, module := c.goroot(), c.module("golang.org/x/image")
	for _, pattern := range []string{
		goroot + "/src/image/png/testdata/pngsuite/basn*.png", goroot + "/src/image/testdata/*.gif", goroot + "/src/image/testdata/*.jpeg",
		module + "/testdata/*.webp", module + "/testdata/*.tiff", module + "/testdata/*.bmp",
	} {
		files, err := filepath.Glob(pattern)
		c.must(err)
		if len(files) == 0 {
			c.t.Logf("there is nothing of %s", pattern)
		}
		for _, file := range files {
			name, data := "real/"+filepath.Base(file), readFile(c, file)
			if broken.MatchString(name) {
				c.refuses(name, data, `is a damaged \w+ image: .+`)
				continue
			}
			config, format, err := image.DecodeConfig(bytes.NewReader([]byte(data)))
			c.must(err)
			shown := ""
			if format == "bmp" || format == "tiff" {
				shown = shownAs("image/png", config.Width, config.Height)
			}
			c.picture(name, data, "image/"+format, config.Width, config.Height, shown)
		}
	}
}
