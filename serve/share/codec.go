package share

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// Values are transferred as CBOR: unlike in JSON, ids, titles and texts may be any bytes,
// numbers keep every bit, and nil differs from empty.
var (
	encoding = must(cbor.EncOptions{
		String: cbor.StringToByteString, NilContainers: cbor.NilContainerAsNull,
		NaNConvert: cbor.NaNConvertPreserveSignal, InfConvert: cbor.InfConvertNone,
		Time: cbor.TimeRFC3339Nano, TextMarshaler: cbor.TextMarshalerTextString,
	}.EncMode())
	decoding = must(cbor.DecOptions{
		MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32, MaxNestedLevels: 64,
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		UTF8: cbor.UTF8DecodeInvalid, ByteStringToString: cbor.ByteStringToStringAllowed,
		TextUnmarshaler: cbor.TextUnmarshalerTextString, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic("client: " + err.Error()) // options that are constant
	}
	return v
}

// decode decodes a T that encode wrote.
func decode[T any](raw []byte) (v T, err error) {
	if err := decoding.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%w: %v", errProtocol, err)
	}
	return v, nil
}

// packed is a vector: little-endian float32.
type packed []byte

func pack(v []float32) packed {
	if v == nil {
		return nil
	}
	p := make(packed, 0, 4*len(v))
	for _, x := range v {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(x))
	}
	return p
}

func (p packed) unpack() ([]float32, error) {
	if p == nil {
		return nil, nil
	}
	if len(p)%4 != 0 {
		return nil, fmt.Errorf("%w: a vector of %d bytes", errProtocol, len(p))
	}
	v := make([]float32, len(p)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
	}
	return v, nil
}

// shape is a digest of all calls with their arguments and results, so that programs with
// different fields notice it before a field is lost.
var shape = sync.OnceValue(func() string {
	h := sha256.New()
	seen := map[reflect.Type]bool{}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		fmt.Fprintln(h, "call", name)
		for _, t := range calls[name].types() {
			describe(h, t, seen)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

// describe writes the fields of a type and, recursively, of the types in it.
func describe(w interface{ Write([]byte) (int, error) }, t reflect.Type, seen map[reflect.Type]bool) {
	fmt.Fprintln(w, t.Kind(), strings.ReplaceAll(t.String(), " ", ""))
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				fmt.Fprintln(w, f.Name, f.Tag)
				describe(w, f.Type, seen)
			}
		}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		describe(w, t.Elem(), seen)
	case reflect.Map:
		describe(w, t.Key(), seen)
		describe(w, t.Elem(), seen)
	}
}
