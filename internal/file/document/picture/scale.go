package picture

import (
	"image"

	"golang.org/x/image/draw"
)

const (
	// cellPixels is the number of pixels that are averaged at a time, so that the picture
	// is not copied a second time.
	cellPixels = 1 << 16
	// bandPixels is the number of pixels that the kernel scales at a time. It needs 32
	// bytes for each, so 8 MiB; a whole picture would take gigabytes.
	bandPixels = 1 << 18
)

// kernel scales by the factor that remains after averaging whole pixels.
var kernel = draw.CatmullRom

// within returns a size of the same shape whose sides are at most side.
func within(w, h, side int) (int, int) {
	long := max(w, h)
	if long <= side {
		return w, h
	}
	fit := func(n int) int {
		return max(1, int((int64(n)*int64(side)+int64(long)/2)/int64(long)))
	}
	return fit(w), fit(h)
}

// scaled returns the picture in a size that must not be larger. Every pixel counts: whole
// factors are averaged, which is fast and exact; the kernel does the rest, a factor below
// two.
func scaled(src image.Image, w, h int) *image.RGBA {
	b := src.Bounds()
	if across, down := b.Dx()/w, b.Dy()/h; across > 1 || down > 1 {
		src = average(src, across, down)
	}
	if b = src.Bounds(); b.Dx() != w {
		src = narrow(src, w)
	}
	if b = src.Bounds(); b.Dy() != h {
		src = lower(src, h)
	}
	if m, ok := src.(*image.RGBA); ok && m.Rect.Min == (image.Point{}) {
		return m
	}
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(m, m.Rect, src, src.Bounds().Min, draw.Src)
	return m
}

// average reduces each cell of across x down pixels to one pixel. Cells at the edges may
// be smaller.
func average(src image.Image, across, down int) *image.RGBA {
	b := src.Bounds()
	w, h := (b.Dx()+across-1)/across, (b.Dy()+down-1)/down
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	cells := min(w, max(1, cellPixels/(across*down)))
	buf := image.NewRGBA(image.Rect(0, 0, cells*across, down))
	for y := range h {
		for x := 0; x < w; x += cells {
			at := b.Min.Add(image.Pt(x*across, y*down))
			part := buf.Rect.Add(at).Intersect(b)
			draw.Draw(buf, part.Sub(at), src, at, draw.Src)
			for i := range min(cells, w-x) {
				o := dst.PixOffset(x+i, y)
				averageCell(dst.Pix[o:o+4], buf, i*across, min(across, part.Dx()-i*across), part.Dy())
			}
		}
	}
	return dst
}

// averageCell averages n x rows pixels of a buffer from column x on.
func averageCell(dst []byte, buf *image.RGBA, x, n, rows int) {
	var r, g, b, a uint64
	for y := range rows {
		p := buf.Pix[y*buf.Stride+4*x:][:4*n]
		for i := 0; i+4 <= len(p); i += 4 {
			r += uint64(p[i])
			g += uint64(p[i+1])
			b += uint64(p[i+2])
			a += uint64(p[i+3])
		}
	}
	all := uint64(n * rows)
	dst[0], dst[1] = byte((r+all/2)/all), byte((g+all/2)/all)
	dst[2], dst[3] = byte((b+all/2)/all), byte((a+all/2)/all)
}

// narrow scales a picture to a width of w pixels, some rows at a time: rows are
// independent of each other here.
func narrow(src image.Image, w int) *image.RGBA {
	b := src.Bounds()
	dst := image.NewRGBA(image.Rect(0, 0, w, b.Dy()))
	band := max(1, min(b.Dy(), bandPixels/w))
	s := kernel.NewScaler(w, band, b.Dx(), band)
	for y := 0; y < b.Dy(); y += band {
		end := min(y+band, b.Dy())
		s.Scale(dst, image.Rect(0, y, w, end), src, image.Rect(b.Min.X, b.Min.Y+y, b.Max.X, b.Min.Y+end), draw.Src, nil)
	}
	return dst
}

// lower scales a picture to a height of h pixels, some columns at a time.
func lower(src image.Image, h int) *image.RGBA {
	b := src.Bounds()
	dst := image.NewRGBA(image.Rect(0, 0, b.Dx(), h))
	band := max(1, min(b.Dx(), bandPixels/b.Dy()))
	s := kernel.NewScaler(band, h, band, b.Dy())
	for x := 0; x < b.Dx(); x += band {
		end := min(x+band, b.Dx())
		s.Scale(dst, image.Rect(x, 0, end, h), src, image.Rect(b.Min.X+x, b.Min.Y, b.Min.X+end, b.Max.Y), draw.Src, nil)
	}
	return dst
}

// turned returns a picture upright, according to its EXIF orientation: 2 to 4 are
// mirrored or upside down, 5 to 8 lie on a side.
func turned(src *image.RGBA, turn int) *image.RGBA {
	if turn == upright {
		return src
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	if turn >= 5 {
		dst = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch turn {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			copy(dst.Pix[dst.PixOffset(tx, ty):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return dst
}
