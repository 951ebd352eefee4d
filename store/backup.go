package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lexsem/lexsem/internal/regular"
)

// bridgesName is the folder of the bridge files that the manifest names.
const bridgesName = "bridges"

// BackupReport describes the result of a backup.
type BackupReport struct {
	Part      int    `json:"part"`      // number of the part in the chain, from 1; 0 if nothing had changed
	Seq       uint64 `json:"seq"`       // sequence number of the commit that was backed up
	Documents int    `json:"documents"` // live documents at that commit
	Written   int    `json:"written"`   // documents written in this part; the others are in earlier parts
	Bytes     int64  `json:"bytes"`     // size of this part
}

// Backup writes the last commit to w as the first part of a backup: documents, vocabulary, manifest
// and bridges. It sees one state, and writes do not wait for it. progress, if not nil, receives the
// number of documents written. Memory: one document. Errors: *CorruptError, ErrClosed, and those of
// ctx and w. After an error the written data is not a backup.
func (s *Store) Backup(ctx context.Context, w io.Writer, progress func(done, total int)) (BackupReport, error) {
	b, err := s.beginBackup(ctx)
	if err != nil {
		return BackupReport{}, err
	}
	defer b.close()
	if err := b.remember(ctx); err != nil {
		return BackupReport{}, err
	}
	return b.write(ctx, w, nil, progress)
}

// backup is one state that is being written into a part.
type backup struct {
	s        *Store
	view     *View
	manifest Manifest
	raw      json.RawMessage     // of the manifest, as the part has it
	bridges  map[string]*os.File // open, by name
}

// beginBackup takes a view of the last commit, and the bridges of its manifest. A fit may replace
// them and remove the files meanwhile; newer ones then exist.
func (s *Store) beginBackup(ctx context.Context) (b *backup, err error) {
	for range 10 {
		b = &backup{s: s, bridges: map[string]*os.File{}}
		if b.view, err = s.Snapshot(); err != nil {
			return nil, err
		}
		err = b.open()
		if err == nil {
			return b, nil
		}
		b.close()
		if !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
	}
	return nil, s.corrupt("a fitted bridge is missing; fit it again, or export the documents", err)
}

func (b *backup) open() error {
	err := b.view.use(func(p *pin) error {
		raw, err := p.s.get(p.txn, keyManifest)
		if err == nil {
			_, b.manifest, err = decodeManifest(raw)
		}
		return err
	})
	if err != nil {
		return err
	}
	m := b.manifest
	m.Backups = nil
	if b.raw, err = json.Marshal(m); err != nil {
		return err
	}
	for _, br := range m.Bridges {
		name := filepath.Base(br.File)
		if b.bridges[name], err = regular.Open(filepath.Join(b.s.dir, bridgesName, name)); err != nil {
			delete(b.bridges, name)
			return err
		}
	}
	return nil
}

func (b *backup) close() {
	b.view.Close()
	for _, f := range b.bridges {
		f.Close() // read only
	}
}

// to is the state that is backed up.
func (b *backup) to() place {
	st := b.view.p.st
	return place{Seq: st.seq, History: st.history, Next: st.nextOrd, Terms: st.terms, Bases: st.bases}
}

// write writes a part: the next one after the given header and end, or the first.
func (b *backup) write(ctx context.Context, w io.Writer, last *lastPart, progress func(done, total int)) (r BackupReport, err error) {
	h := partHeader{Part: 1, UUID: b.manifest.UUID, To: b.to(), Created: time.Now().UTC().Truncate(time.Second), Manifest: b.raw}
	var from, terms, bases uint64 = 1, 0, 0
	if last != nil {
		h.Part, h.From, h.Previous = last.header.Part+1, &last.header.To, fmt.Sprintf("%x", last.end.digest)
		from, terms, bases = last.header.To.Next, last.header.To.Terms, last.header.To.Bases
	}
	p, err := newPartWriter(w, h)
	if err != nil {
		return r, err
	}
	var survivors uint64
	err = b.view.use(func(pin *pin) (err error) {
		if last != nil {
			if survivors, err = pin.writeSurvivors(ctx, p, from); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(b.bridges)) {
			if last != nil && last.has(name) {
				continue
			}
			if err := b.writeBridge(ctx, p, name); err != nil {
				return err
			}
		}
		if err := pin.writeTerms(ctx, p, terms); err != nil {
			return err
		}
		if err := pin.writeBases(ctx, p, bases); err != nil {
			return err
		}
		return pin.writeDocuments(ctx, p, from, progress)
	})
	if err != nil {
		return r, err
	}
	live := b.view.p.st.live
	if n := survivors + p.documents; n != live {
		return r, b.s.corrupt(fmt.Sprintf("%d of %d records could be read", n, live), nil)
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	_, err = p.end(live)
	return BackupReport{Part: h.Part, Seq: h.To.Seq, Documents: int(live), Written: int(p.documents), Bytes: int64(p.length)}, err
}

// writeBridge writes a bridge's file and compares it with the manifest.
func (b *backup) writeBridge(ctx context.Context, p *partWriter, name string) error {
	if err := p.frame(frameBridge, []byte(name)); err != nil {
		return err
	}
	var sum bridgeSum
	buf := make([]byte, 256<<10)
	for {
		if err := b.view.p.interrupted(ctx); err != nil {
			return err
		}
		n, err := b.bridges[name].Read(buf)
		if n > 0 {
			sum.add(buf[:n])
			if err := p.frame(frameBytes, buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, br := range b.manifest.Bridges {
		if filepath.Base(br.File) == name && br.CRC32C != sum.crc {
			return b.s.corrupt("bridge "+name+" is not the file that the manifest names; fit it again, or export the documents", nil)
		}
	}
	return nil
}

// bridgeSum is the CRC of a bridge's file without its last 4 bytes.
type bridgeSum struct {
	crc  uint32
	tail []byte
}

func (b *bridgeSum) add(p []byte) {
	b.tail = append(b.tail, p...)
	n := max(0, len(b.tail)-4)
	b.crc = crc32.Update(b.crc, castagnoli, b.tail[:n])
	b.tail = append(b.tail[:0], b.tail[n:]...)
}

// remember writes the state into the manifest, so that a further part can be based on it even if
// the log up to it has been removed.
func (b *backup) remember(ctx context.Context) error {
	to := b.to()
	if b.s.o.ReadOnly || slices.Contains(b.s.Manifest().Backups, to) {
		return nil
	}
	return b.s.SetManifest(ctx, func(m *Manifest) error {
		m.Backups = append(m.Backups, to)
		m.Backups = m.Backups[max(0, len(m.Backups)-maxBackups):]
		return nil
	})
}

// knows reports whether a state belongs to this database's past.
func (s *Store) knows(p place) (bool, error) {
	if p.History == (History{}) {
		return false, nil
	}
	if slices.Contains(s.Manifest().Backups, p) {
		return true, nil
	}
	v, err := s.Snapshot()
	if err != nil {
		return false, err
	}
	defer v.Close()
	h, ok, err := v.HistoryAt(p.Seq)
	return ok && h == p.History, err
}
