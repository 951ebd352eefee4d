//go:build amd64 && !purego

#include "textflag.h"

// One row of a tile in a step along k: broadcast the value of A, multiply with
// the panel row of B in Z0-Z2 (Y0-Y2).
#define ROW512(addr, t, c0, c1, c2) \
	VBROADCASTSS addr, t       \
	VFMADD231PS  Z0, t, c0     \
	VFMADD231PS  Z1, t, c1     \
	VFMADD231PS  Z2, t, c2

#define STORE512(c0, c1, c2) \
	VMOVUPS c0, (DI)     \
	VMOVUPS c1, 64(DI)   \
	VMOVUPS c2, 128(DI)  \
	ADDQ    SI, DI

#define ADD512(c0, c1, c2) \
	VADDPS  (DI), c0, c0    \
	VADDPS  64(DI), c1, c1  \
	VADDPS  128(DI), c2, c2 \
	STORE512(c0, c1, c2)

// The sums of the first four rows.
#define ZERO512 \
	VPXORQ Z8, Z8, Z8 \
	VPXORQ Z9, Z9, Z9 \
	VPXORQ Z10, Z10, Z10 \
	VPXORQ Z11, Z11, Z11 \
	VPXORQ Z12, Z12, Z12 \
	VPXORQ Z13, Z13, Z13 \
	VPXORQ Z14, Z14, Z14 \
	VPXORQ Z15, Z15, Z15 \
	VPXORQ Z16, Z16, Z16 \
	VPXORQ Z17, Z17, Z17 \
	VPXORQ Z18, Z18, Z18 \
	VPXORQ Z19, Z19, Z19

// A step along k of the first four rows. B is asked for eight steps ahead: with
// few rows it comes from memory, and a panel is larger than the L1 cache.
#define STEP512 \
	VMOVUPS (DX), Z0                       \
	VMOVUPS 64(DX), Z1                     \
	VMOVUPS 128(DX), Z2                    \
	PREFETCHT0 1536(DX)                    \
	PREFETCHT0 1600(DX)                    \
	PREFETCHT0 1664(DX)                    \
	ROW512((R8), Z3, Z8, Z9, Z10)          \
	ROW512((R8)(R9*1), Z4, Z11, Z12, Z13)  \
	ROW512((R8)(R9*2), Z5, Z14, Z15, Z16)  \
	ROW512((R8)(R10*1), Z6, Z17, Z18, Z19)

// func tile8x48avx512(c *float32, ldc int, a *float32, rs, cs int, b *float32, k int, acc bool)
TEXT ·tile8x48avx512(SB), NOSPLIT, $0-57
	MOVQ c+0(FP), DI
	MOVQ ldc+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ rs+24(FP), R9
	MOVQ cs+32(FP), R13
	MOVQ b+40(FP), DX
	MOVQ k+48(FP), CX
	SHLQ $2, SI
	SHLQ $2, R9
	SHLQ $2, R13
	LEAQ (R9)(R9*2), R10 // 3 rows
	LEAQ (R9)(R9*4), R11 // 5 rows
	LEAQ (R10)(R9*4), R12 // 7 rows

	ZERO512
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	VPXORQ Z22, Z22, Z22
	VPXORQ Z23, Z23, Z23
	VPXORQ Z24, Z24, Z24
	VPXORQ Z25, Z25, Z25
	VPXORQ Z26, Z26, Z26
	VPXORQ Z27, Z27, Z27
	VPXORQ Z28, Z28, Z28
	VPXORQ Z29, Z29, Z29
	VPXORQ Z30, Z30, Z30
	VPXORQ Z31, Z31, Z31

loop:
	STEP512
	ROW512((R8)(R9*4), Z7, Z20, Z21, Z22)
	ROW512((R8)(R11*1), Z3, Z23, Z24, Z25)
	ROW512((R8)(R10*2), Z4, Z26, Z27, Z28)
	ROW512((R8)(R12*1), Z5, Z29, Z30, Z31)
	ADDQ $192, DX
	ADDQ R13, R8
	DECQ CX
	JNZ  loop

	CMPB acc+56(FP), $0
	JNE  add
	STORE512(Z8, Z9, Z10)
	STORE512(Z11, Z12, Z13)
	STORE512(Z14, Z15, Z16)
	STORE512(Z17, Z18, Z19)
	STORE512(Z20, Z21, Z22)
	STORE512(Z23, Z24, Z25)
	STORE512(Z26, Z27, Z28)
	STORE512(Z29, Z30, Z31)
	VZEROUPPER
	RET

add:
	ADD512(Z8, Z9, Z10)
	ADD512(Z11, Z12, Z13)
	ADD512(Z14, Z15, Z16)
	ADD512(Z17, Z18, Z19)
	ADD512(Z20, Z21, Z22)
	ADD512(Z23, Z24, Z25)
	ADD512(Z26, Z27, Z28)
	ADD512(Z29, Z30, Z31)
	VZEROUPPER
	RET

// func tile4x48avx512(c *float32, a *float32, rs, cs int, b *float32, k int)
//
// The tile of C lies in one piece and is not added to.
TEXT ·tile4x48avx512(SB), NOSPLIT, $0-48
	MOVQ c+0(FP), DI
	MOVQ a+8(FP), R8
	MOVQ rs+16(FP), R9
	MOVQ cs+24(FP), R13
	MOVQ b+32(FP), DX
	MOVQ k+40(FP), CX
	MOVQ $192, SI
	SHLQ $2, R9
	SHLQ $2, R13
	LEAQ (R9)(R9*2), R10
	ZERO512

loop:
	STEP512
	ADDQ $192, DX
	ADDQ R13, R8
	DECQ CX
	JNZ  loop

	STORE512(Z8, Z9, Z10)
	STORE512(Z11, Z12, Z13)
	STORE512(Z14, Z15, Z16)
	STORE512(Z17, Z18, Z19)
	VZEROUPPER
	RET

#define ROW256(addr, c0, c1, c2) \
	VBROADCASTSS addr, Y3   \
	VFMADD231PS  Y0, Y3, c0 \
	VFMADD231PS  Y1, Y3, c1 \
	VFMADD231PS  Y2, Y3, c2

#define STORE256(c0, c1, c2) \
	VMOVUPS c0, (DI)    \
	VMOVUPS c1, 32(DI)  \
	VMOVUPS c2, 64(DI)  \
	ADDQ    SI, DI

#define ADD256(c0, c1, c2) \
	VADDPS  (DI), c0, c0   \
	VADDPS  32(DI), c1, c1 \
	VADDPS  64(DI), c2, c2 \
	STORE256(c0, c1, c2)

// func tile4x24avx2(c *float32, ldc int, a *float32, rs, cs int, b *float32, k int, acc bool)
TEXT ·tile4x24avx2(SB), NOSPLIT, $0-57
	MOVQ c+0(FP), DI
	MOVQ ldc+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ rs+24(FP), R9
	MOVQ cs+32(FP), R13
	MOVQ b+40(FP), DX
	MOVQ k+48(FP), CX
	SHLQ $2, SI
	SHLQ $2, R9
	SHLQ $2, R13
	LEAQ (R9)(R9*2), R10

	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	VXORPS Y12, Y12, Y12
	VXORPS Y13, Y13, Y13
	VXORPS Y14, Y14, Y14
	VXORPS Y15, Y15, Y15

loop2:
	VMOVUPS (DX), Y0
	VMOVUPS 32(DX), Y1
	VMOVUPS 64(DX), Y2
	ROW256((R8), Y4, Y5, Y6)
	ROW256((R8)(R9*1), Y7, Y8, Y9)
	ROW256((R8)(R9*2), Y10, Y11, Y12)
	ROW256((R8)(R10*1), Y13, Y14, Y15)
	ADDQ $96, DX
	ADDQ R13, R8
	DECQ CX
	JNZ  loop2

	CMPB acc+56(FP), $0
	JNE  add2
	STORE256(Y4, Y5, Y6)
	STORE256(Y7, Y8, Y9)
	STORE256(Y10, Y11, Y12)
	STORE256(Y13, Y14, Y15)
	VZEROUPPER
	RET

add2:
	ADD256(Y4, Y5, Y6)
	ADD256(Y7, Y8, Y9)
	ADD256(Y10, Y11, Y12)
	ADD256(Y13, Y14, Y15)
	VZEROUPPER
	RET

// func transpose8avx2(dst *float32, ldd int, src *float32, lds, k int)
//
// Eight rows of src, eight columns at a time: pairs of rows are interleaved,
// then pairs of pairs, then the 128-bit halves are exchanged.
TEXT ·transpose8avx2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), SI
	MOVQ src+16(FP), R8
	MOVQ lds+24(FP), R9
	MOVQ k+32(FP), CX
	SHLQ $2, SI
	SHLQ $2, R9
	LEAQ (R9)(R9*2), R10
	LEAQ (R9)(R9*4), R11
	LEAQ (R10)(R9*4), R12
	LEAQ (SI)(SI*2), R13
	LEAQ (SI)(SI*4), AX
	LEAQ (R13)(SI*4), BX

loopt:
	VMOVUPS (R8), Y0
	VMOVUPS (R8)(R9*1), Y1
	VMOVUPS (R8)(R9*2), Y2
	VMOVUPS (R8)(R10*1), Y3
	VMOVUPS (R8)(R9*4), Y4
	VMOVUPS (R8)(R11*1), Y5
	VMOVUPS (R8)(R10*2), Y6
	VMOVUPS (R8)(R12*1), Y7

	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15

	VUNPCKLPD Y10, Y8, Y0
	VUNPCKHPD Y10, Y8, Y1
	VUNPCKLPD Y11, Y9, Y2
	VUNPCKHPD Y11, Y9, Y3
	VUNPCKLPD Y14, Y12, Y4
	VUNPCKHPD Y14, Y12, Y5
	VUNPCKLPD Y15, Y13, Y6
	VUNPCKHPD Y15, Y13, Y7

	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x20, Y5, Y1, Y9
	VPERM2F128 $0x20, Y6, Y2, Y10
	VPERM2F128 $0x20, Y7, Y3, Y11
	VPERM2F128 $0x31, Y4, Y0, Y12
	VPERM2F128 $0x31, Y5, Y1, Y13
	VPERM2F128 $0x31, Y6, Y2, Y14
	VPERM2F128 $0x31, Y7, Y3, Y15

	VMOVUPS Y8, (DI)
	VMOVUPS Y9, (DI)(SI*1)
	VMOVUPS Y10, (DI)(SI*2)
	VMOVUPS Y11, (DI)(R13*1)
	VMOVUPS Y12, (DI)(SI*4)
	VMOVUPS Y13, (DI)(AX*1)
	VMOVUPS Y14, (DI)(R13*2)
	VMOVUPS Y15, (DI)(BX*1)

	ADDQ $32, R8
	LEAQ (DI)(SI*8), DI
	SUBQ $8, CX
	JG   loopt
	VZEROUPPER
	RET
