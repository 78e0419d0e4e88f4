package picture

import (
	"errors"
	"fmt"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"mcp-toolset/internal/text/fault"
)

// Errors of header readers.
var (
	errEnds        = errors.New("the data ends early")
	errChecksum    = errors.New("a checksum does not match")
	errBad         = errors.New("its contents are not valid")
	errNoPixels    = errors.New("its width or height is 0")
	errUnsupported = errors.New("unsupported variant")
	errAnimated    = errors.New("animated")
)

const nextUndamaged = "Make it again or use an undamaged copy."

// explain returns the fault for an error of a header reader or decoder. ended reports
// whether the decoder wanted bytes after the end of the file.
func explain(f *format, err error, ended bool) error {
	if given := (*fault.Fault)(nil); errors.As(err, &given) {
		return given
	}
	damage := errBad
	switch {
	case errors.Is(err, errAnimated):
		return &fault.Fault{
			Fact: "is an animated " + f.name + " image, which cannot be decoded",
			Next: "Convert its first frame to PNG.",
		}
	case unsupported(err):
		return &fault.Fault{
			Fact: "is a " + f.name + " image of a variant that cannot be decoded",
			Next: "Convert it to PNG.",
		}
	case errors.Is(err, errNoPixels):
		damage = errNoPixels
	case ended, errors.Is(err, errEnds), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		damage = errEnds
	case strings.Contains(err.Error(), "checksum"): // the file's checksum or that of zlib
		damage = errChecksum
	}
	return &fault.Fault{Fact: "is a damaged " + f.name + " image: " + damage.Error(), Next: nextUndamaged}
}

func unsupported(err error) bool {
	var p png.UnsupportedError
	var j jpeg.UnsupportedError
	var t tiff.UnsupportedError
	return errors.Is(err, errUnsupported) || errors.Is(err, bmp.ErrUnsupported) ||
		errors.As(err, &p) || errors.As(err, &j) || errors.As(err, &t)
}

func unknown() error {
	return &fault.Fault{
		Fact: "is not an image of a known kind",
		Next: "PNG, JPEG, GIF, WebP, BMP and TIFF images can be shown.",
	}
}

func tooManyBytes(f *format, size int64) error {
	return &fault.Fault{
		Fact: fmt.Sprintf("is a %s image of %d MiB, which is too large a file to decode", f.name, (size+1<<20-1)>>20),
		Next: fmt.Sprintf("Make a copy of it of at most %d MiB.", maxFile>>20),
	}
}

func tooManyPixels(h *header) error {
	return &fault.Fault{
		Fact: fmt.Sprintf("is a %s image of %d x %d pixels, which takes too much memory to decode", h.format.name, h.width, h.height),
		Next: "Scale a copy of it down or cut a part out of it first.",
	}
}

func tooManyScans(n int) error {
	return &fault.Fault{
		Fact: fmt.Sprintf("is a JPEG image of %d scans, which takes too long to decode", n),
		Next: "Save it again as a plain JPEG or PNG image.",
	}
}
