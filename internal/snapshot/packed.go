package snapshot

import (
	"bytes"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/lexsem/lexsem/internal/atomicfile"
)

// A packed file is the header, then the rest of a file of the written format as one frame of Zstandard with its
// checksum. It is unpacked as a whole when it is opened, so its checksums say nothing new, and its memory is the
// process's own.

// WritePacked is Write for a small file, in about half the space. It is in memory twice meanwhile.
func WritePacked(path string, h Header, write func(*Writer) error) error {
	var plain bytes.Buffer
	w := NewWriter(&plain, h)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	b := packer().EncodeAll(plain.Bytes()[page:], h.encode(packed))
	return atomicfile.Write(path, func(f *os.File) error { _, err := f.Write(b); return err })
}

// mostUnpacked bounds the memory that a forged file can request.
const mostUnpacked = 1 << 28

// isPacked says whether a file, longer than a header, begins as a packed one does.
func isPacked(file []byte) bool {
	return bytes.HasPrefix(file, append([]byte(magic), packed)) && checkHeader(file[:page]) == nil
}

// unpack returns the file that was packed.
func unpack(file []byte) ([]byte, error) {
	r, err := unpacker()
	if err != nil {
		return nil, err
	}
	var h Header
	if err := h.fields(file); err != nil {
		return nil, err
	}
	b, err := r.DecodeAll(file[page:], h.encode(written))
	if err != nil {
		return nil, damage("%v", err)
	}
	return b, nil
}

var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // of options alone
		}
		return w
	})
	unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(mostUnpacked))
	})
)
