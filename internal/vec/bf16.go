package vec

import "math"

// BF16 returns the upper half of a float32, rounded to the nearest, ties to even: 8 bits of precision. x must be finite.
func BF16(x float32) uint16 {
	b := math.Float32bits(x)
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
