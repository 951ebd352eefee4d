package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lexsem/lexsem/internal/limit"
)

// The format of the database. A change that older programs cannot read raises formatMajor; a change
// that they can ignore raises formatMinor. A database has the lowest format that can hold it.
const (
	formatMajor = formatImpacts // newest major format that this program reads
	formatMinor = 1             // 1: the manifest has backups

	formatHistory = 2 // states and commits have a history
	formatMetric  = 3 // as before, and the metric counts: programs of format 2 take every one for cosine

	formatDeferred = 4 // as formatHistory, and documents may have no vectors yet (Manifest.Deferred); the metric is cosine
	formatShort    = 5 // as formatDeferred, and records may be short (Manifest.Short)
	formatImpacts  = 6 // as formatShort, and rows may have impacts (Manifest.Impacts)
)

// plainMetric is the metric of databases in formats before formatMetric.
const plainMetric = "cosine"

// maxManifestBytes is the maximum length of the encoded manifest in bytes.
const maxManifestBytes = 256 << 10

// UUID identifies a database. Derived files carry it, so files of another database are detected.
type UUID [16]byte

// newUUID returns a random UUID (version 4).
func newUUID() UUID {
	var u UUID
	rand.Read(u[:]) // documented never to fail
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}

// String returns 32 hexadecimal digits.
func (u UUID) String() string { return hex.EncodeToString(u[:]) }

// MarshalText returns 32 hexadecimal digits.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText decodes 32 hexadecimal digits.
func (u *UUID) UnmarshalText(b []byte) error {
	if hex.DecodedLen(len(b)) != len(u) {
		return fmt.Errorf("uuid has %d digits, want 32", len(b))
	}
	_, err := hex.Decode(u[:], b)
	return err
}

// Manifest describes a database. SetManifest keeps unknown fields from newer programs of the same
// major format.
type Manifest struct {
	Major   int       `json:"major"` // format; set by the store
	Minor   int       `json:"minor"`
	UUID    UUID      `json:"uuid"`           // set by the store
	Created time.Time `json:"created"`        // set by the store
	From    int       `json:"from,omitempty"` // major format before a conversion; set by the store

	Dim     int             `json:"dim"`               // dimension of every vector; fixed once there are documents
	Metric  string          `json:"metric,omitempty"`  // metric of the vectors, opaque to the store; "" is cosine; fixed like Dim
	Encoder json.RawMessage `json:"encoder,omitempty"` // fingerprint of the encoder, opaque to the store

	Language string `json:"language,omitempty"` // language for the analysis of texts; "" is "en"

	Kind string `json:"kind,omitempty"` // of what is stored, opaque to the store; "" is decided by the documents

	// Deferred says that documents may be stored without vectors, which are made later. It is never reset.
	Deferred bool `json:"deferred,omitempty"`

	// Short says that new records are short: texts compressed, and vectors of ShortVector in two bytes a component. It
	// is set before the first document; the metric is cosine. It is never reset.
	Short bool `json:"short,omitempty"`

	// Impacts says that rows may have impacts. It is set before the first document, with Short, and never reset.
	Impacts bool `json:"impacts,omitempty"`

	// TokenStates is the mode for token states of documents, opaque to the store; "" in databases that
	// were made before token states existed.
	TokenStates string `json:"token_states,omitempty"`

	// Index is the requested kind of vector index, opaque to the store; "" if none was requested.
	Index string `json:"index,omitempty"`

	Bridges map[string]Bridge `json:"bridges,omitempty"` // by variant
	Default string            `json:"default,omitempty"` // fitted variant for queries that name none
	Auto    string            `json:"auto,omitempty"`    // what such a query gets, if it was chosen

	// Source is the database that this one was made from, and still follows while it is in Folder.Next.
	Source *Source `json:"source,omitempty"`

	// Backups are the last maxBackups states that backups ended at. The next part of a backup finds
	// its base there. Set by the store.
	Backups []place `json:"backups,omitempty"`

	extra map[string]json.RawMessage
}

// Source records how far a database has followed another one.
type Source struct {
	UUID    UUID    `json:"uuid"`
	Seq     uint64  `json:"seq"`     // deletions up to this commit were applied
	History History `json:"history"` // digest of the source at Seq
	Next    uint64  `json:"next"`    // ordinals below it were processed
}

// maxBackups is how many ends of backups a manifest stores, each with its digest. With sequence
// numbers alone, a copy that has diverged since could continue a backup, and the commit record with
// the digest is often removed.
const maxBackups = 64

// Bridge describes the active file of one fitted variant.
type Bridge struct {
	File     string          `json:"file"`   // file name below the bridges folder of the database
	CRC32C   uint32          `json:"crc32c"` // CRC of the file without its last 4 bytes, which are its own checksum
	Seq      uint64          `json:"seq"`    // commit that it was fitted on
	Last     uint64          `json:"last"`   // highest ordinal at that commit
	Passages int             `json:"passages"`
	Probes   json.RawMessage `json:"probes,omitempty"` // measured gains, opaque to the store

	extra map[string]json.RawMessage
}

// The names of these fields in JSON; other fields are kept.
var (
	manifestFields = []string{"major", "minor", "uuid", "created", "from", "dim", "metric", "encoder", "language", "kind", "deferred", "short", "impacts", "token_states", "index", "bridges", "default", "auto", "source", "backups"}
	bridgeFields   = []string{"file", "crc32c", "seq", "last", "passages", "probes"}
)

// format is the lowest format that can store a database with this manifest.
func (m Manifest) format() int {
	if m.Metric != "" && m.Metric != plainMetric {
		return formatMetric
	}
	if m.Impacts {
		return formatImpacts
	}
	if m.Short {
		return formatShort
	}
	if m.Deferred {
		return formatDeferred
	}
	return formatHistory
}

// clone returns a copy that shares no data that callers may change.
func (m Manifest) clone() Manifest {
	m.Encoder = slices.Clone(m.Encoder)
	if m.Source != nil {
		source := *m.Source
		m.Source = &source
	}
	m.Backups = slices.Clone(m.Backups)
	m.Bridges = maps.Clone(m.Bridges)
	for k, b := range m.Bridges {
		b.Probes = slices.Clone(b.Probes)
		m.Bridges[k] = b
	}
	return m
}

// MarshalJSON includes the unknown fields that were read.
func (m Manifest) MarshalJSON() ([]byte, error) {
	type plain Manifest
	return marshalWith(plain(m), m.extra)
}

// UnmarshalJSON keeps unknown fields.
func (m *Manifest) UnmarshalJSON(b []byte) (err error) {
	type plain Manifest
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*m = Manifest(p)
	m.extra, err = unknownFields(b, manifestFields)
	return err
}

// MarshalJSON includes the unknown fields that were read.
func (b Bridge) MarshalJSON() ([]byte, error) {
	type plain Bridge
	return marshalWith(plain(b), b.extra)
}

// UnmarshalJSON keeps unknown fields.
func (b *Bridge) UnmarshalJSON(data []byte) (err error) {
	type plain Bridge
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*b = Bridge(p)
	b.extra, err = unknownFields(data, bridgeFields)
	return err
}

func marshalWith(v any, extra map[string]json.RawMessage) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil || len(extra) == 0 {
		return b, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, extra)
	return json.Marshal(all)
}

func unknownFields(b []byte, known []string) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	for _, k := range known {
		delete(all, k)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// checkChange refuses changes of fixed properties.
func (m Manifest) checkChange(old Manifest, documents uint64) error {
	switch {
	case m.Major != old.Major || m.UUID != old.UUID || m.From != old.From || !m.Created.Equal(old.Created):
		return fmt.Errorf("%w: format, uuid and creation time are set by the store", ErrManifest)
	case m.Dim < 0 || m.Dim > limit.Dim:
		return fmt.Errorf("%w: dimension %d is not within 1 to %d", ErrManifest, m.Dim, limit.Dim)
	case m.Dim != old.Dim && documents > 0:
		return fmt.Errorf("%w: the dimension is fixed while there are documents; build a new database", ErrManifest)
	case m.Metric != old.Metric && documents > 0:
		return fmt.Errorf("%w: the metric is fixed while there are documents; build a new database", ErrManifest)
	case (m.Deferred || m.Short) && m.Metric != "" && m.Metric != plainMetric:
		return fmt.Errorf("%w: documents without vectors, or short records, in a database of metric %s; only %s has them", ErrManifest, m.Metric, plainMetric)
	case m.Short != old.Short && documents > 0:
		return fmt.Errorf("%w: records are short from the first one on, or none is", ErrManifest)
	case m.Impacts != old.Impacts && documents > 0 || m.Impacts && !m.Short:
		return fmt.Errorf("%w: rows have impacts from the first document on, in short records, or none has", ErrManifest)
	case old.Deferred && !m.Deferred && documents > 0:
		return fmt.Errorf("%w: documents may lack their vectors, and that stays so", ErrManifest)
	}
	return nil
}
