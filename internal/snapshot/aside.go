package snapshot

import "os"

// Aside chooses how vectors are read from a mapped file: by system calls if on, so that the process keeps no pages
// of them in memory, else from the mapping, which is faster once the pages are there. Where the system does not map, or
// the path has another file by now, the mapping serves all the same. One goroutine at a time may call it.
func (f *File) Aside(on bool) {
	now := f.aside.Load()
	if !on && now != nil {
		f.aside.Store(nil)
		now.Close() // readers that have it go over to the mapping
	}
	if !on || now != nil || !Maps || f.info == nil {
		return
	}
	file, err := open(f.path)
	if err != nil {
		return
	}
	if info, err := file.Stat(); err != nil || !os.SameFile(info, f.info) {
		file.Close()
		return
	}
	f.aside.Store(file)
}

// IsAside reports whether the file is read aside.
func (s *Section) IsAside() bool { return s.f.aside.Load() != nil }

// ReadAside copies the numbers from byte from on to dst, unchecked, and reports whether it did, which is only
// while the file is read aside.
func (s *Section) ReadAside(dst []float32, from int) bool {
	return s.f.readAside(memory(dst), s.from+from)
}

func (f *File) readAside(dst []byte, from int) bool {
	file := f.aside.Load()
	if file == nil {
		return false
	}
	_, err := file.ReadAt(dst, int64(from)) // on an error the mapping tells what is wrong
	return err == nil
}
