package parquet

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/lexsem/lexsem/ingest/files"
)

// leafValue converts a value of Parquet to metadata: numbers, booleans and texts. Dates
// and times become RFC 3339 in UTC, decimals become numbers with all their digits, and
// bytes that are not text become base64. A value that JSON cannot express (NaN) is left
// out.
func leafValue(t parquet.Type, v parquet.Value) (any, error) {
	if v.IsNull() {
		return nil, nil
	}
	var logical any
	if l := t.LogicalType(); l != nil {
		logical = l.Value
	}
	if d, ok := logical.(*format.DecimalType); ok {
		return decimal(v, d.Scale)
	}
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean(), nil
	case parquet.Int32, parquet.Int64:
		n := v.Int64()
		if v.Kind() == parquet.Int32 {
			n = int64(v.Int32())
		}
		switch l := logical.(type) {
		case *format.DateType:
			if n < -1_000_000 || n > 2_900_000 {
				return nil, errors.New("a date outside the years of RFC 3339")
			}
			return time.Unix(n*86400, 0).UTC().Format(time.DateOnly), nil
		case *format.TimestampType:
			return timestamp(n, l.Unit).Format(time.RFC3339Nano), nil
		case *format.TimeType:
			return timestamp(n, l.Unit).Format("15:04:05.999999999"), nil
		case *format.IntType:
			if !l.IsSigned {
				if v.Kind() == parquet.Int32 {
					return int64(v.Uint32()), nil
				}
				return v.Uint64(), nil
			}
		}
		return n, nil
	case parquet.Int96: // a time: nanoseconds of the day, and the day since 4713 BC
		i := v.Int96()
		nanos := int64(uint64(i[1])<<32 | uint64(i[0]))
		return time.Unix((int64(i[2])-2_440_588)*86400, nanos).UTC().Format(time.RFC3339Nano), nil
	case parquet.Float:
		return finite(float64(v.Float())), nil
	case parquet.Double:
		return finite(v.Double()), nil
	}
	raw := v.ByteArray()
	if _, ok := logical.(*format.UUIDType); ok && len(raw) == 16 {
		h := hex.EncodeToString(raw)
		return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-"), nil
	}
	if _, ok := logical.(*format.Float16Type); ok && len(raw) == 2 {
		return finite(half(binary.LittleEndian.Uint16(raw))), nil
	}
	if utf8.Valid(raw) {
		return string(raw), nil
	}
	if _, ok := logical.(*format.StringType); ok {
		return nil, files.ErrBinary
	}
	return base64.StdEncoding.EncodeToString(raw), nil
}

func finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return f
}

// half is a float16.
func half(b uint16) float64 {
	sign, exp, frac := 1.0, int(b>>10&31), float64(b&1023)
	if b>>15 != 0 {
		sign = -1
	}
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac == 0 {
			return math.Inf(int(sign))
		}
		return math.NaN()
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

func timestamp(n int64, unit format.TimeUnit) time.Time {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		return time.UnixMilli(n).UTC()
	case *format.MicroSeconds:
		return time.UnixMicro(n).UTC()
	}
	return time.Unix(0, n).UTC()
}

// decimal is a whole number divided by 10^scale.
func decimal(v parquet.Value, scale int32) (any, error) {
	n := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	case parquet.ByteArray, parquet.FixedLenByteArray: // big-endian, two's complement
		raw := v.ByteArray()
		if n.SetBytes(raw); len(raw) > 0 && raw[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
		}
	}
	if scale < 0 || scale > 400 || n.BitLen() > 1024 {
		return nil, errors.New("a decimal of scale " + strconv.Itoa(int(scale)) + " is too large for a JSON number")
	}
	digits := new(big.Int).Abs(n).String()
	if int(scale) >= len(digits) {
		digits = strings.Repeat("0", int(scale)-len(digits)+1) + digits
	}
	if scale > 0 {
		at := len(digits) - int(scale)
		digits = digits[:at] + "." + digits[at:]
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return json.Number(digits), nil
}
