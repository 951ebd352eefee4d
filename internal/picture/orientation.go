package picture

import (
	"bytes"
	"encoding/binary"
	"iter"
)

// orientation is the EXIF orientation of an image file, 1 to 8; 1, upright, if the file has none or an
// invalid one.
func orientation(name string, b []byte) int {
	switch name {
	case "JPEG":
		return tagOf(jpegEXIF(b))
	case "PNG":
		return tagOf(chunkOf(b[8:], "eXIf", true))
	case "WebP":
		return tagOf(bytes.TrimPrefix(chunkOf(b[12:], "EXIF", false), []byte("Exif\x00\x00")))
	case "TIFF":
		return tagOf(b)
	}
	return 1
}

// segments yields the kind and content of the segments before the pixels of a JPEG file. Like the decoder, it
// skips bytes outside segments and markers without content.
func segments(b []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for b = b[2:]; len(b) >= 4; {
			kind, size := b[1], int(binary.BigEndian.Uint16(b[2:]))
			switch {
			case b[0] != 0xff, kind == 0xff: // no mark, or one that is filled up
				b = b[1:]
			case kind == 0, kind >= 0xd0 && kind <= 0xd7:
				b = b[2:]
			case kind == 0xd9, kind == 0xda, size < 2, len(b) < 2+size, !yield(kind, b[4:2+size]):
				return
			default:
				b = b[2+size:]
			}
		}
	}
}

// jpegEXIF is the TIFF structure in the segment APP1 of a JPEG file, nil if there is none before the pixels.
func jpegEXIF(b []byte) []byte {
	for kind, content := range segments(b) {
		if exif, ok := bytes.CutPrefix(content, []byte("Exif\x00\x00")); kind == 0xe1 && ok {
			return exif
		}
	}
	return nil
}

// progressive reports whether a JPEG file is progressive, so that decoding it keeps all coefficients in
// memory.
func progressive(b []byte) bool {
	for kind := range segments(b) {
		if kind == 0xc2 {
			return true
		}
	}
	return false
}

// chunkOf is the content of the first chunk of a kind, nil if there is none. In a PNG file the length comes
// before the kind and a checksum after the content; otherwise the file is RIFF.
func chunkOf(b []byte, kind string, png bool) []byte {
	for len(b) >= 8 {
		name, size := string(b[:4]), int64(binary.LittleEndian.Uint32(b[4:]))
		next := 8 + size + size%2
		if png {
			name, size = string(b[4:8]), int64(binary.BigEndian.Uint32(b))
			next = 8 + size + 4
		}
		if 8+size > int64(len(b)) {
			return nil
		}
		if name == kind {
			return b[8 : 8+size]
		}
		b = b[min(next, int64(len(b))):]
	}
	return nil
}

// tagOf reads the tag Orientation in the first directory of a TIFF structure.
func tagOf(b []byte) int {
	const tag, short = 0x0112, 3
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 1
	}
	b, n := b[at+2:], int(order.Uint16(b[at:]))
	for ; n > 0 && len(b) >= 12; n, b = n-1, b[12:] {
		if order.Uint16(b) == tag && order.Uint16(b[2:]) == short {
			if v := int(order.Uint16(b[8:])); v >= 1 && v <= 8 {
				return v
			}
		}
	}
	return 1
}

// turned returns the image upright; o is the EXIF orientation of its rows and columns. For 1 it returns the
// image itself.
func (m *Image) turned(o int) *Image {
	if o <= 1 {
		return m
	}
	out := New(m.W, m.H)
	if o >= 5 {
		out.W, out.H = m.H, m.W
	}
	for y := range out.H {
		row := out.row(y)
		for x := range out.W {
			sx, sy := x, y
			if o >= 5 {
				sx, sy = y, x
			}
			if o == 2 || o == 3 || o == 7 || o == 8 {
				sx = m.W - 1 - sx
			}
			if o == 3 || o == 4 || o == 6 || o == 7 {
				sy = m.H - 1 - sy
			}
			copy(row[3*x:3*x+3], m.Pix[3*(sy*m.W+sx):])
		}
	}
	return out
}
