package pdf

import (
	"errors"
	"image"
	"math"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"

	"mcp-toolset/internal/file/document/picture"
)

const (
	// pointsPerInch converts the unit of page sizes.
	pointsPerInch = 72
	// maxDPI is the highest resolution at which a page is drawn, in pixels per inch. It
	// suits scans of small print. A larger picture of a small page shows nothing more.
	maxDPI = 200
	// pixelBytes is the size of a pixel that pdfium draws: red, green, blue and an unused
	// byte.
	pixelBytes = 4
	// white is opaque white in pdfium's byte order.
	white = 0xFFFFFFFF
)

// errNoSize means that a page has no area to draw.
var errNoSize = errors.New("page has no size")

func (e *engine) ref(n int) requests.Page {
	return requests.Page{ByIndex: &requests.PageByIndex{Document: e.doc, Index: n - 1}}
}

// text returns the cleaned text of page n.
func (e *engine) text(n int) (string, error) {
	loaded, err := e.pdfium.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: e.ref(n)})
	if err = e.judge(err); err != nil {
		return "", err
	}
	page := loaded.TextPage
	count, err := e.pdfium.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: page})
	if err = e.judge(err); err != nil {
		return "", err
	}
	text := ""
	if count.Count > 0 {
		// pdfium allocates 2 bytes for each character of the count. A character may take
		// 4.
		got, err := e.pdfium.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: page, Count: 2 * count.Count})
		if err = e.judge(err); err != nil {
			return "", err
		}
		text = clean(got.Text, func(i int) bool { return e.hyphen(page, i) })
	}
	_, err = e.pdfium.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: page})
	return text, e.judge(err)
}

// hyphen reports whether character i of a page's text, counted from 0, is a hyphen at the
// end of a line.
func (e *engine) hyphen(page references.FPDF_TEXTPAGE, i int) bool {
	char, err := e.pdfium.FPDFText_GetCharIndexFromTextIndex(&requests.FPDFText_GetCharIndexFromTextIndex{TextPage: page, NTextIndex: i})
	if err != nil {
		return false
	}
	is, err := e.pdfium.FPDFText_IsHyphen(&requests.FPDFText_IsHyphen{TextPage: page, Index: char.CharIndex})
	return err == nil && is.IsHyphen
}

// picture draws page n on white.
func (e *engine) picture(n int) (*picture.Picture, error) {
	page := e.ref(n)
	size, err := e.pdfium.GetPageSize(&requests.GetPageSize{Page: page})
	if err = e.judge(err); err != nil {
		return nil, err
	}
	width, height, err := pixels(size.Width, size.Height)
	if err != nil {
		return nil, err
	}
	made, err := e.pdfium.FPDFBitmap_Create(&requests.FPDFBitmap_Create{Width: width, Height: height})
	if err = e.judge(err); err != nil {
		return nil, err
	}
	bitmap := made.Bitmap
	_, err = e.pdfium.FPDFBitmap_FillRect(&requests.FPDFBitmap_FillRect{Bitmap: bitmap, Width: width, Height: height, Color: white})
	if err = e.judge(err); err != nil {
		return nil, err
	}
	_, err = e.pdfium.FPDF_RenderPageBitmap(&requests.FPDF_RenderPageBitmap{
		Bitmap: bitmap, Page: page, SizeX: width, SizeY: height,
		// Annotations that flatten left are drawn as they are stored.
		Flags: enums.FPDF_RENDER_FLAG_ANNOT | enums.FPDF_RENDER_FLAG_REVERSE_BYTE_ORDER | enums.FPDF_RENDER_FLAG_RENDER_LIMITEDIMAGECACHE,
	})
	if err = e.judge(err); err != nil {
		return nil, err
	}
	img, err := e.copyBitmap(bitmap, width, height)
	if err != nil {
		return nil, err
	}
	return picture.FitImage(img, true)
}

// copyBitmap copies a bitmap out of pdfium's memory and frees it there.
func (e *engine) copyBitmap(bitmap references.FPDF_BITMAP, width, height int) (*image.RGBA, error) {
	drawn, err := e.pdfium.FPDFBitmap_GetBuffer(&requests.FPDFBitmap_GetBuffer{Bitmap: bitmap})
	if err = e.judge(err); err != nil {
		return nil, err
	}
	if len(drawn.Buffer) != width*height*pixelBytes { // pdfium had no memory for it
		e.broke = true
		return nil, errBroke
	}
	e.canvas = append(e.canvas[:0], drawn.Buffer...)
	for i := pixelBytes - 1; i < len(e.canvas); i += pixelBytes {
		e.canvas[i] = math.MaxUint8 // Go expects the alpha value in the unused byte
	}
	_, err = e.pdfium.FPDFBitmap_Destroy(&requests.FPDFBitmap_Destroy{Bitmap: bitmap})
	if err = e.judge(err); err != nil {
		return nil, err
	}
	return &image.RGBA{Pix: e.canvas, Stride: width * pixelBytes, Rect: image.Rect(0, 0, width, height)}, nil
}

// pixels returns the size in pixels at which to draw a page, given its size in points.
func pixels(width, height float64) (int, int, error) {
	long := max(width, height)
	if !(width > 0 && height > 0) || math.IsInf(long, 1) { // also rejects NaN
		return 0, 0, errNoSize
	}
	scale := min(maxDPI/float64(pointsPerInch), picture.MaxSide/long)
	fit := func(points float64) int {
		return min(max(int(math.Round(points*scale)), 1), picture.MaxSide)
	}
	return fit(width), fit(height), nil
}
