package snapshot

// Section is a part of a File. Safe for concurrent use.
type Section struct {
	f    *File
	tag  string
	from int // its first byte in the file
	data []byte
}

// Len returns the length in bytes.
func (s *Section) Len() int { return len(s.data) }

// Raw returns the whole payload, unchecked; Check reports which parts are undamaged. Its first byte is
// aligned to 64 if the file's is.
func (s *Section) Raw() []byte { return s.data }

// Bytes returns n bytes of the payload from offset from. They are the memory of the file. Error:
// ErrDamaged, also for a range outside the section. Cost: one checksum for each block that is read for
// the first time, two loads otherwise.
func (s *Section) Bytes(from, n int) ([]byte, error) {
	if err := s.Check(from, n); err != nil {
		return nil, err
	}
	return s.data[from : from+n : from+n], nil
}

// All returns the whole payload, like Bytes.
func (s *Section) All() ([]byte, error) { return s.Bytes(0, len(s.data)) }

// Check checks a range like Bytes, without returning it.
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

// Forget lets the system drop a part that was read from the memory of this process. The part stays
// valid and is read again when needed.
func (s *Section) Forget(from, n int) {
	if s.f.free != nil {
		forget(s.data[from : from+n])
	}
}

// Reader returns a Reader at the beginning of the section.
func (s *Section) Reader() *Reader {
	data, err := s.All()
	return &Reader{s: s, data: data, err: err}
}
