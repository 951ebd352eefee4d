package snapshot

// Section is a part of a File. Safe for concurrent use.
type Section struct {
	f    *File
	tag  string
	from int // its first byte in the file
	data []byte
}

// Len is the length in bytes.
func (s *Section) Len() int { return len(s.data) }

// Raw is the whole payload, not checked: Check says which of it is good. Its
// first byte is aligned to 64 if the file's is.
func (s *Section) Raw() []byte { return s.data }

// Bytes returns n bytes of the payload from byte from on, which are the memory
// of the file. Error: ErrDamaged, for a range outside the section as well.
// Cost: one checksum for each block that is read for the first time, and
// two loads then.
func (s *Section) Bytes(from, n int) ([]byte, error) {
	if err := s.Check(from, n); err != nil {
		return nil, err
	}
	return s.data[from : from+n : from+n], nil
}

// All returns the payload as Bytes does.
func (s *Section) All() ([]byte, error) { return s.Bytes(0, len(s.data)) }

// Check is Bytes without the bytes.
func (s *Section) Check(from, n int) error {
	if from < 0 || n < 0 || from > len(s.data) || n > len(s.data)-from {
		return s.f.damage("bytes %d to %d of section %q, which has %d", from, from+n, s.tag, len(s.data))
	}
	if n == 0 {
		return nil
	}
	at := s.from - page + from
	return s.f.check(at/s.f.block, (at+n-1)/s.f.block)
}

// Forget lets the system take a part that was read out of the memory of this
// process. It stays valid, and is there again when it is next read.
func (s *Section) Forget(from, n int) {
	if s.f.free != nil {
		forget(s.data[from : from+n])
	}
}

// Reader reads the section from its beginning.
func (s *Section) Reader() *Reader {
	data, err := s.All()
	return &Reader{s: s, data: data, err: err}
}
