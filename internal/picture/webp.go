package picture

import "encoding/binary"

// checkFrame checks the size in the frame of a WebP file: the decoder allocates by it, and
// not by the canvas size in the file's header.
func checkFrame(b []byte) error {
	for b = b[12:]; len(b) >= 8; {
		kind, size := string(b[:4]), int64(binary.LittleEndian.Uint32(b[4:]))
		b = b[8:]
		switch kind {
		case "ANIM", "ANMF":
			return wrong("an animated WebP; store one of its frames as PNG")
		case "VP8 ":
			if len(b) >= 10 {
				return checkSize("WebP", int(binary.LittleEndian.Uint16(b[6:])&0x3fff), int(binary.LittleEndian.Uint16(b[8:])&0x3fff), MaxPixels)
			}
			return nil
		case "VP8L":
			if len(b) >= 5 {
				n := binary.LittleEndian.Uint32(b[1:])
				return checkSize("WebP", int(n&0x3fff)+1, int(n>>14&0x3fff)+1, MaxPixels)
			}
			return nil
		}
		b = b[min(size+size%2, int64(len(b))):]
	}
	return nil // which the decoder refuses
}
