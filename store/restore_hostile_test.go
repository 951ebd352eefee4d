package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// chained is a backup of several parts.
func chained(t testing.TB, parts int) []byte {
	s := open(t, t.TempDir(), small)
	file := filepath.Join(t.TempDir(), "backup")
	setBridge(t, s, "slr", "a bridge of some bytes")
	for i := range parts {
		add(t, s, doc(fmt.Sprint(i), i), doc("shared", i))
		backedUp(t, s, file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// refusedWhole restores what must be refused, and holds Restore to leaving nothing.
func refusedWhole(t *testing.T, what string, b []byte) *backupError {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	_, err := Restore(ctx, dir, bytes.NewReader(b), RestoreOptions{})
	var bad *backupError
	if !errors.As(err, &bad) || !errors.Is(err, ErrBackup) {
		t.Errorf("%s: %v", what, err)
		return &backupError{}
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
		t.Errorf("%s: left behind %v, %v", what, left, err)
	}
	return bad
}

// Every cut and every flipped bit is found by the reader that Restore uses, and
// some of them are tried through Restore.
func TestRestoreDamage(t *testing.T) {
	t.Parallel()
	b := chained(t, 2)
	read := func(b []byte) (parts int, err error) {
		p := &partReader{r: bytes.NewReader(b)}
		for ; ; parts++ {
			if _, err := p.skip(); err != nil {
				return parts, err
			}
		}
	}
	first, _ := (&partReader{r: bytes.NewReader(b)}).skip()
	if n, err := read(b); n != 2 || err != io.EOF {
		t.Fatalf("%d parts, %v", n, err)
	}
	for at := range b {
		flipped := slices.Clone(b)
		flipped[at] ^= 1 << (at % 8)
		if n, _ := read(flipped); n == 2 {
			t.Fatalf("a flipped bit in byte %d of %d is not found", at, len(b))
		}
		if n, err := read(b[:at]); n == 2 || err == io.EOF && at != 0 && at != int(first) {
			t.Fatalf("a cut at byte %d of %d is not found: %v", at, len(b), err)
		}
		if at%(len(b)/12) == 5 {
			refusedWhole(t, fmt.Sprint("flipped at ", at), flipped)
			if bad := refusedWhole(t, fmt.Sprint("cut at ", at), b[:at]); !strings.Contains(bad.What, "ends early") {
				t.Errorf("cut at %d: %v", at, bad)
			}
		}
	}
	refusedWhole(t, "empty", nil)
	refusedWhole(t, "bytes behind", append(slices.Clone(b), "more"...))
	refusedWhole(t, "the second part alone", b[first:])
	refusedWhole(t, "the first part twice", append(slices.Clone(b[:first]), b[:first]...))
	newer := slices.Clone(b)
	newer[len(archiveMagic)]++
	if bad := refusedWhole(t, "newer", newer); !errors.Is(bad, ErrVersion) {
		t.Errorf("newer: %v", bad)
	}
	flipped := slices.Clone(b)
	flipped[first+100] ^= 1
	if bad := refusedWhole(t, "second part", flipped); bad.Part != 2 || !strings.Contains(bad.Error(), "the 1 before may be whole") {
		t.Errorf("damage in the second part: %v", bad)
	}
	dir := filepath.Join(t.TempDir(), "db")
	if _, err := Restore(ctx, dir, bytes.NewReader(flipped), RestoreOptions{Parts: 1}); err != nil {
		t.Errorf("the part before the damage: %v", err)
	}
}

// forged writes a part with right checksums, whatever stands in it.
type forged struct {
	header partHeader
	write  func(p *partWriter) error
	live   uint64
}

func (f forged) bytes(t testing.TB, before ...partEnd) ([]byte, partEnd) {
	t.Helper()
	if f.header.Manifest == nil {
		f.header.Manifest = fmt.Appendf(nil, `{"major":2,"dim":%d,"uuid":"%032d"}`, testDim, 1)
	}
	for _, e := range before {
		f.header.Part, f.header.Previous = 2, fmt.Sprintf("%x", e.digest)
	}
	var b bytes.Buffer
	p, err := newPartWriter(&b, f.header)
	if err == nil && f.write != nil {
		err = f.write(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.end(f.live)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), e
}

func putForged(p *partWriter, ord uint64, d *Document) error {
	return p.document(ord, encodeDocument(nil, d), encodedRows(d.Rows))
}

// Archives that are whole by their digests and wrong in what they say are refused.
func TestRestoreForged(t *testing.T) {
	t.Parallel()
	to := place{Seq: 3, Next: 10, History: History{1}}
	documents := func(ds map[uint64]*Document) func(p *partWriter) error {
		return func(p *partWriter) error {
			for ord := range uint64(20) {
				if d := ds[ord]; d != nil {
					if err := putForged(p, ord, d); err != nil {
						return err
					}
				}
			}
			return nil
		}
	}
	changed := func(change func(d *Document)) *Document {
		d := doc("a", 1)
		change(d)
		return d
	}
	frames := func(kind byte, payloads ...string) func(p *partWriter) error {
		return func(p *partWriter) error {
			for _, b := range payloads {
				if err := p.frame(kind, []byte(b)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	first := partHeader{Part: 1, To: to}
	manifest := func(s string) partHeader { return partHeader{Part: 1, To: to, Manifest: json.RawMessage(s)} }
	one := documents(map[uint64]*Document{1: doc("a", 1)})
	good, _ := forged{first, one, 1}.bytes(t)
	if _, err := Restore(ctx, t.TempDir(), bytes.NewReader(good), RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]forged{
		"ordinal 0":     {first, documents(map[uint64]*Document{0: doc("a", 1)}), 1},
		"ordinal ahead": {first, documents(map[uint64]*Document{10: doc("a", 1)}), 1},
		"id twice":      {first, documents(map[uint64]*Document{1: doc("a", 1), 2: doc("a", 2)}), 2},
		"order": {first, func(p *partWriter) error {
			return errors.Join(putForged(p, 2, doc("a", 1)), putForged(p, 1, doc("b", 1)))
		}, 2},
		"empty id":     {first, documents(map[uint64]*Document{1: changed(func(d *Document) { d.ID = "" })}), 1},
		"dimension":    {first, documents(map[uint64]*Document{1: changed(func(d *Document) { d.Rows[0].Vector = make([]float32, 3) })}), 1},
		"no vectors":   {first, documents(map[uint64]*Document{1: changed(func(d *Document) { d.Rows[0].Vector = nil })}), 1},
		"not a number": {first, documents(map[uint64]*Document{1: changed(func(d *Document) { d.Rows[0].Vector[0] = float32(math.NaN()) })}), 1},
		"metadata":     {first, documents(map[uint64]*Document{1: changed(func(d *Document) { d.Metadata = []byte("[1]") })}), 1},
		"no rows":      {first, func(p *partWriter) error { return p.document(1, encodeDocument(nil, doc("a", 1)), nil) }, 1},
		"rows of another": {first, func(p *partWriter) error {
			return p.document(1, encodeDocument(nil, doc("a", 1)), encodedRows(doc("a", 5).Rows))
		}, 1},
		"live count":        {first, one, 2},
		"huge lengths":      {first, frames(frameDocument, string(appendNumbers(nil, 1, 1<<62, 1<<62))), 1},
		"lengths that wrap": {first, frames(frameDocument, string(appendNumbers(nil, 1, 1<<63, 1<<63))), 1},
		"longer than it says": {first, func(p *partWriter) error {
			return errors.Join(p.frame(frameDocument, appendNumbers(nil, 1, 4, 4)), p.frame(frameMore, make([]byte, 9)))
		}, 1},
		"short document":     {first, frames(frameDocument, "x"), 1},
		"more of nothing":    {first, frames(frameMore, "x"), 0},
		"a kind of frame":    {first, frames('Z', "x"), 0},
		"second header":      {first, frames(frameHeader, "{}"), 0},
		"survivors in first": {first, frames(frameSurvivors, "\x01\x01"), 0},
		"bridge not named":   {first, frames(frameBridge, "../../x"), 0},
		"bridge path":        {manifest(`{"major":2,"dim":4,"uuid":"00000000000000000000000000000001","bridges":{"slr":{"file":"../x"}}}`), frames(frameBridge, "../x"), 0},
		"bridge missing":     {manifest(`{"major":2,"dim":4,"uuid":"00000000000000000000000000000001","bridges":{"slr":{"file":"x"}}}`), nil, 0},
		"bridge of another":  {manifest(`{"major":2,"dim":4,"uuid":"00000000000000000000000000000001","bridges":{"slr":{"file":"x","crc32c":5}}}`), frames(frameBridge, "x"), 0},
		"bridge in a folder": {manifest(`{"major":2,"dim":4,"uuid":"00000000000000000000000000000001","bridges":{"slr":{"file":"a/x"}}}`), frames(frameBridge, "a/x"), 0},
		"a frame too long": {manifest(fmt.Sprintf(`{"major":2,"dim":4,"uuid":"00000000000000000000000000000001","bridges":{"slr":{"file":"x","crc32c":%d}}}`, crc32.Checksum(make([]byte, frameMax-3), castagnoli))), func(p *partWriter) error {
			return errors.Join(p.frame(frameBridge, []byte("x")), p.frame(frameBytes, make([]byte, frameMax+1)))
		}, 0},
		"manifest":                      {manifest(`[]`), nil, 0},
		"major":                         {manifest(fmt.Sprintf(`{"major":%d}`, formatMajor+1)), nil, 0},
		"no vectors, of another metric": {manifest(`{"major":4,"dim":4,"metric":"dot","deferred":true}`), nil, 0},
		"wide":                          {manifest(`{"major":2,"dim":1000000000}`), nil, 0},
		"negative":                      {manifest(`{"major":2,"dim":-1}`), nil, 0},
		"part 0":                        {partHeader{To: to}, nil, 0},
		"with a base":                   {partHeader{Part: 1, To: to, From: &to}, nil, 0},
		"seq":                           {partHeader{Part: 1, To: place{Seq: math.MaxUint64, Next: 10}}, nil, 0},
		"next":                          {partHeader{Part: 1, To: place{Seq: 1, Next: math.MaxUint64}}, nil, 0},
		"next 0":                        {partHeader{Part: 1}, nil, 0},
	} {
		b, _ := f.bytes(t)
		refusedWhole(t, what, b)
	}
	later := place{Seq: 4, Next: 12, History: History{2}}
	second := partHeader{From: &to, To: later}
	run := func(ns ...uint64) string {
		var b []byte
		for _, n := range ns {
			b = binary.AppendUvarint(b, n)
		}
		return string(b)
	}
	uuid := UUID{15: 1}
	second.UUID = uuid
	goodHeader := first
	goodHeader.UUID = uuid
	good, end := forged{goodHeader, one, 1}.bytes(t)
	wrong := func(change func(h *partHeader)) partHeader {
		h := second
		change(&h)
		return h
	}
	keepOne := frames(frameSurvivors, run(1, 1))
	if b, _ := (forged{second, keepOne, 1}).bytes(t, end); true {
		if _, err := Restore(ctx, t.TempDir(), bytes.NewReader(append(slices.Clone(good), b...)), RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for what, f := range map[string]forged{
		"no survivors":         {second, nil, 1},
		"one who never was":    {second, frames(frameSurvivors, run(1, 2)), 2},
		"ahead of the base":    {second, frames(frameSurvivors, run(1, 100)), 1},
		"an endless run":       {second, frames(frameSurvivors, run(1, math.MaxUint64)), 1},
		"an endless gap":       {second, frames(frameSurvivors, run(math.MaxUint64, 1)), 1},
		"an empty run":         {second, frames(frameSurvivors, run(1, 0)), 0},
		"never was, uncounted": {second, frames(frameSurvivors, run(1, 2)), 1},
		"half a run":           {second, frames(frameSurvivors, run(1)), 1},
		"dead, and counted":    {second, frames(frameSurvivors, ""), 1},
		"an ordinal below":     {second, func(p *partWriter) error { return errors.Join(keepOne(p), putForged(p, 9, doc("b", 1))) }, 2},
		"an id of before":      {second, func(p *partWriter) error { return errors.Join(keepOne(p), putForged(p, 11, doc("a", 1))) }, 2},
		"another base":         {wrong(func(h *partHeader) { h.From = &later }), keepOne, 1},
		"another database":     {wrong(func(h *partHeader) { h.UUID = UUID{9} }), keepOne, 1},
		"other dimension":      {wrong(func(h *partHeader) { h.Manifest = json.RawMessage(`{"major":2,"dim":5}`) }), keepOne, 1},
		"other metric":         {wrong(func(h *partHeader) { h.Manifest = fmt.Appendf(nil, `{"major":3,"dim":%d,"metric":"dot"}`, testDim) }), keepOne, 1},
		"before its base":      {wrong(func(h *partHeader) { h.To.Seq = 2 }), keepOne, 1},
		"fewer than its base":  {wrong(func(h *partHeader) { h.To.Next = 9 }), keepOne, 1},
	} {
		b, _ := f.bytes(t, end)
		if bad := refusedWhole(t, what, append(slices.Clone(good), b...)); bad.Part != 2 {
			t.Errorf("%s: part %d", what, bad.Part)
		}
	}
	// Frames with right checksums that are not those of the digest, and an end that
	// tells another length.
	swapped := bytes.Replace(slices.Clone(good), []byte("text 1 of a"), []byte("text 2 of a"), 1)
	fixed := bytes.Index(swapped, []byte("text 2 of a"))
	frame := bytes.LastIndexByte(swapped[:fixed], frameDocument)
	n := int(binary.LittleEndian.Uint32(swapped[frame+1:]))
	binary.LittleEndian.PutUint32(swapped[frame+frameHead+n:], crc32.Checksum(swapped[frame:frame+frameHead+n], castagnoli))
	if bad := refusedWhole(t, "another document", swapped); bad.What != "its end" {
		t.Errorf("another document: %v", bad)
	}
	var long bytes.Buffer
	p, err := newPartWriter(&long, partHeader{Part: 1, To: to, Manifest: json.RawMessage(`{"major":2}`)})
	if err != nil {
		t.Fatal(err)
	}
	p.length++
	if _, err := p.end(0); err != nil {
		t.Fatal(err)
	}
	refusedWhole(t, "another length", long.Bytes())
	b, _ := forged{second, keepOne, 1}.bytes(t, partEnd{})
	refusedWhole(t, "another part before", append(slices.Clone(good), b...))
	_, err = Restore(ctx, filepath.Join(t.TempDir(), "db"), bytes.NewReader(good), RestoreOptions{
		Accept: func(*Manifest, int, int) (func(*Document) error, error) {
			return func(d *Document) error { return errReader }, nil
		}})
	if !errors.Is(err, ErrBackup) || !errors.Is(err, errReader) {
		t.Errorf("a document that is not accepted: %v", err)
	}
}

// FuzzRestore reads parts of any frames, with right checksums. It may neither panic
// nor take memory out of proportion, and refuses with a *backupError.
func FuzzRestore(f *testing.F) {
	words, _ := forged{partHeader{Part: 1, To: place{Seq: 3, Next: 10, Terms: 3}}, func(p *partWriter) error {
		return errors.Join(p.frame(frameTerms, encodeTerms([]string{"a", "b"})), p.frame(frameTerms, encodeTerms([]string{"c"})), putForged(p, 1, doc("a", 1)))
	}, 1}.bytes(f)
	for _, b := range [][]byte{chained(f, 1), chained(f, 3), words} {
		var raw []byte // as the fuzzer gives frames: kind, length u16, payload
		p := &partReader{r: bytes.NewReader(b)}
		for p.begin() == nil {
			for {
				kind, payload, err := p.next()
				if err != nil {
					f.Fatal(err)
				}
				raw = append(binary.LittleEndian.AppendUint16(append(raw, kind), uint16(len(payload))), payload...)
				if kind == frameEnd {
					break
				}
			}
		}
		if !bytes.Equal(framed(raw), b) {
			f.Fatal("the frames do not make the same parts")
		}
		f.Add(raw)
		f.Add(b)
	}
	s := open(f, f.TempDir(), Options{NoSync: true, MemoryMiB: 64})
	if err := os.Mkdir(filepath.Join(s.dir, bridgesName), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, b := range [][]byte{raw, framed(raw)} {
			src := &source{r: bytes.NewReader(b)}
			x := &restorer{s: s, src: src, in: partReader{r: src}, w: s.newStager()}
			for x.in.begin() == nil {
				if err := x.readPart(ctx); err != nil {
					if bad := (&backupError{}); !errors.As(err, &bad) {
						t.Errorf("untyped error %v", err)
					}
					break
				}
			}
			x.w.txn.Discard()
			for _, prefix := range []byte{prefixDocument, prefixRow, prefixID, prefixTerms} {
				if err := s.deleteKeys([]byte{prefix}, []byte{prefix + 1}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// framed makes a chain of parts of what a fuzzer gives.
func framed(raw []byte) []byte {
	var b bytes.Buffer
	var p *partWriter
	for len(raw) >= 3 {
		kind, n := raw[0], min(int(binary.LittleEndian.Uint16(raw[1:])), len(raw)-3)
		payload := raw[3 : 3+n]
		raw = raw[3+n:]
		switch {
		case kind == frameEnd && p != nil && n == endPayload:
			p.documents = binary.LittleEndian.Uint64(payload)
			p.end(binary.LittleEndian.Uint64(payload[8:]))
			p = nil
		case p == nil:
			h := partHeader{}
			if kind != frameHeader || json.Unmarshal(payload, &h) != nil {
				return b.Bytes()
			}
			var err error
			if p, err = newPartWriter(&b, h); err != nil {
				return b.Bytes()
			}
		default:
			p.frame(kind, payload)
		}
	}
	return b.Bytes()
}
