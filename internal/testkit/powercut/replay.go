//go:build linux

package powercut

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Replay is a disk at an earlier moment. Changes of names become durable in order, and a
// sync of any file or folder includes all earlier ones, as in ext4, XFS and Btrfs. A
// Replay is not safe for concurrent use.
type Replay struct {
	log   []op
	at    int
	marks Marks

	files   map[int]*synced
	folders map[int]map[string]int // of durable names: id of each
	changes []op                   // of names, not durable yet
}

// synced is a file at its last sync, and the operations on it since.
type synced struct {
	contents
	since []op
}

// Replay returns the disk at its beginning: empty.
func (d *Disk) Replay() *Replay {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Replay{
		log:   slices.Clone(d.log),
		files: map[int]*synced{}, folders: map[int]map[string]int{0: {}},
	}
}

// Len is the number of recorded operations on the disk.
func (r *Replay) Len() int { return len(r.log) }

// Marks returns the texts given to Mark so far.
func (r *Replay) Marks() Marks { return r.marks }

// To continues until the given number of operations.
func (r *Replay) To(at int) {
	for ; r.at < min(at, len(r.log)); r.at++ {
		switch o := r.log[r.at]; o.kind {
		case opMark:
			r.marks = append(r.marks, o.name)
		case opWrite, opSize:
			r.files[o.id].since = append(r.files[o.id].since, o)
		case opSync:
			r.sync(o.id)
		default:
			if o.kind == opMake && o.folder {
				r.folders[o.id] = map[string]int{}
			} else if o.kind == opMake {
				r.files[o.id] = &synced{}
			}
			r.changes = append(r.changes, o)
		}
	}
}

// sync makes durable what a sync of the node makes durable.
func (r *Replay) sync(id int) {
	if f := r.files[id]; f != nil {
		for _, o := range f.since {
			f.apply(o)
		}
		f.since = nil
	}
	for _, o := range r.changes {
		rename(r.folders, o)
	}
	r.changes = nil
}

func (c *contents) apply(o op) {
	if o.kind == opSize {
		c.resize(o.off)
	} else {
		c.write(o.data, o.off)
	}
}

// rename applies a change of names.
func rename(folders map[int]map[string]int, o op) {
	switch o.kind {
	case opMake:
		folders[o.dir][o.name] = o.id
	case opRemove:
		delete(folders[o.dir], o.name)
	case opRename:
		id := folders[o.dir][o.name]
		delete(folders[o.dir], o.name)
		folders[o.toDir][o.to] = id
	}
}

// Cut makes a folder with a possible content of the disk after a power cut now.
func (r *Replay) Cut(dir string, rnd *rand.Rand) error {
	folders := map[int]map[string]int{}
	for id, names := range r.folders {
		folders[id] = maps.Clone(names)
	}
	for _, o := range r.changes[:some(rnd, len(r.changes))] {
		rename(folders, o)
	}
	return r.write(dir, 0, folders, rnd)
}

// some is a random number up to n, often 0 or n.
func some(rnd *rand.Rand, n int) int {
	switch rnd.IntN(4) {
	case 0:
		return 0
	case 1:
		return n
	}
	return rnd.IntN(n + 1)
}

func (r *Replay) write(dir string, id int, folders map[int]map[string]int, rnd *rand.Rand) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(folders[id])) {
		child, path := folders[id][name], filepath.Join(dir, name)
		var err error
		if f := r.files[child]; f != nil {
			err = f.torn(rnd).store(path)
		} else {
			err = r.write(path, child, folders, rnd)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// torn is the file with some of its unsynced writes: in one of five ways none, all,
// random pages, random sectors, or the first ones. Its length is one that it had since
// the sync.
func (f *synced) torn(rnd *rand.Rand) *contents {
	c := f.clone()
	way, keep := rnd.IntN(5), some(rnd, len(f.since))
	if way == 1 {
		keep = len(f.since)
	}
	share := rnd.Float64()
	for i, o := range f.since {
		if o.kind == opSize {
			if i < keep {
				c.resize(o.off)
			}
			continue
		}
		if i < keep { // the length that the write gave
			c.size = max(c.size, o.off+int64(len(o.data)))
		}
		size := pageSize
		switch {
		case way == 0 || way == 4 && i > keep:
			continue
		case way == 1 || way == 4 && i < keep:
			c.put(o.data, o.off)
			continue
		case way == 3 || way == 4:
			size = sectorSize
		}
		for at := 0; at < len(o.data); {
			end := min(len(o.data), at+size-int((o.off+int64(at))%int64(size)))
			if rnd.Float64() < share {
				c.put(o.data[at:end], o.off+int64(at))
			}
			at = end
		}
	}
	return &c
}

// store writes the contents to a file, with holes.
func (c *contents) store(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for i, p := range c.pages {
		if n := min(pageSize, c.size-i*pageSize); n > 0 {
			if _, err := f.WriteAt(p[:n], i*pageSize); err != nil {
				return err
			}
		}
	}
	return f.Truncate(c.size)
}
