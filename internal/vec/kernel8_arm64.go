//go:build arm64 && !purego

package vec

// kernels8 are the kernels that this machine can run, best first.
var kernels8 = func() []*kernel8 {
	var k []*kernel8
	if hasDotprod {
		k = append(k, &kernel8{name: "neon-dotprod", mr: 4, nr: 16, run: tile4x16sdot})
	}
	return append(k, kernel8Go)
}()

//go:noescape
func tile4x16sdot(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)
