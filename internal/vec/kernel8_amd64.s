//go:build amd64 && !purego

#include "textflag.h"

// Four steps along k of one row of a tile: the row's four codes, unsigned, in
// every lane of t, times those of 48 columns in Z0-Z2, signed.
#define ROWVNNI(addr, t, c0, c1, c2) \
	VPBROADCASTD addr, t     \
	VPDPBUSD     Z0, t, c0   \
	VPDPBUSD     Z1, t, c1   \
	VPDPBUSD     Z2, t, c2

// The same without VNNI: sums of two products in 16 bits, which the codes'
// limits keep from saturating, then of two such by ones in Z7.
#define ADDBW(b, a, t, c) \
	VPMADDUBSW b, a, t   \
	VPMADDWD   Z7, t, t  \
	VPADDD     t, c, c

#define ROWBW(addr, c0, c1, c2) \
	VPBROADCASTD addr, Z3   \
	ADDBW(Z0, Z3, Z4, c0)   \
	ADDBW(Z1, Z3, Z5, c1)   \
	ADDBW(Z2, Z3, Z6, c2)

#define ARGS8 \
	MOVQ c+0(FP), DI     \
	MOVQ ldc+8(FP), SI   \
	MOVQ a+16(FP), R8    \
	MOVQ lda+24(FP), R9  \
	MOVQ b+32(FP), DX    \
	MOVQ quads+40(FP), CX \
	MOVQ row+48(FP), BX  \
	MOVQ col+56(FP), AX  \
	SHLQ $2, SI          \
	LEAQ (R9)(R9*2), R10

#define ZEROLOW \
	VPXORQ Z8, Z8, Z8    \
	VPXORQ Z9, Z9, Z9    \
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

#define ZEROHIGH \
	VPXORQ Z20, Z20, Z20 \
	VPXORQ Z21, Z21, Z21 \
	VPXORQ Z22, Z22, Z22 \
	VPXORQ Z23, Z23, Z23 \
	VPXORQ Z24, Z24, Z24 \
	VPXORQ Z25, Z25, Z25 \
	VPXORQ Z26, Z26, Z26 \
	VPXORQ Z27, Z27, Z27 \
	VPXORQ Z28, Z28, Z28 \
	VPXORQ Z29, Z29, Z29 \
	VPXORQ Z30, Z30, Z30 \
	VPXORQ Z31, Z31, Z31

// B is asked for eight steps ahead, as by the kernels of float32.
#define LOADB \
	VMOVDQU64 (DX), Z0     \
	VMOVDQU64 64(DX), Z1   \
	VMOVDQU64 128(DX), Z2  \
	PREFETCHT0 1536(DX)    \
	PREFETCHT0 1600(DX)    \
	PREFETCHT0 1664(DX)    \
	ADDQ      $192, DX

// Sums and scales of the columns, for the rows that follow.
#define COLUMNS8 \
	VMOVUPS (AX), Z3      \
	VMOVUPS 64(AX), Z4    \
	VMOVUPS 128(AX), Z5   \
	VMOVUPS 192(AX), Z0   \
	VMOVUPS 256(AX), Z1   \
	VMOVUPS 320(AX), Z2

// (sum − zero·codes)·scale·weight of sixteen columns.
#define FLOAT8(c, codes, weight) \
	VCVTDQ2PS    c, c        \
	VFNMADD231PS codes, Z7, c \
	VMULPS       Z6, c, c    \
	VMULPS       weight, c, c

#define FLOATROW8(c0, c1, c2) \
	VBROADCASTSS (BX), Z6   \
	VBROADCASTSS 4(BX), Z7  \
	FLOAT8(c0, Z0, Z3)      \
	FLOAT8(c1, Z1, Z4)      \
	FLOAT8(c2, Z2, Z5)      \
	ADDQ    $8, BX

#define STORE8(c0, c1, c2) \
	FLOATROW8(c0, c1, c2)   \
	VMOVUPS c0, (DI)        \
	VMOVUPS c1, 64(DI)      \
	VMOVUPS c2, 128(DI)     \
	ADDQ    SI, DI

#define ADD8(c0, c1, c2) \
	FLOATROW8(c0, c1, c2)      \
	VADDPS  (DI), c0, c0       \
	VADDPS  64(DI), c1, c1     \
	VADDPS  128(DI), c2, c2    \
	VMOVUPS c0, (DI)           \
	VMOVUPS c1, 64(DI)         \
	VMOVUPS c2, 128(DI)        \
	ADDQ    SI, DI

#define STORELOW \
	STORE8(Z8, Z9, Z10)    \
	STORE8(Z11, Z12, Z13)  \
	STORE8(Z14, Z15, Z16)  \
	STORE8(Z17, Z18, Z19)

#define STOREHIGH \
	STORE8(Z20, Z21, Z22)  \
	STORE8(Z23, Z24, Z25)  \
	STORE8(Z26, Z27, Z28)  \
	STORE8(Z29, Z30, Z31)

#define ADDLOW \
	ADD8(Z8, Z9, Z10)    \
	ADD8(Z11, Z12, Z13)  \
	ADD8(Z14, Z15, Z16)  \
	ADD8(Z17, Z18, Z19)

#define ADDHIGH \
	ADD8(Z20, Z21, Z22)  \
	ADD8(Z23, Z24, Z25)  \
	ADD8(Z26, Z27, Z28)  \
	ADD8(Z29, Z30, Z31)

#define ONES512 \
	VPTERNLOGD $0xFF, Z7, Z7, Z7 \
	VPSRLW     $15, Z7, Z7

// func tile8x48vnni(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)
TEXT ·tile8x48vnni(SB), NOSPLIT, $0-65
	ARGS8
	LEAQ (R9)(R9*4), R11
	LEAQ (R10)(R9*4), R12
	ZEROLOW
	ZEROHIGH

loop:
	LOADB
	ROWVNNI((R8), Z3, Z8, Z9, Z10)
	ROWVNNI((R8)(R9*1), Z4, Z11, Z12, Z13)
	ROWVNNI((R8)(R9*2), Z5, Z14, Z15, Z16)
	ROWVNNI((R8)(R10*1), Z6, Z17, Z18, Z19)
	ROWVNNI((R8)(R9*4), Z7, Z20, Z21, Z22)
	ROWVNNI((R8)(R11*1), Z3, Z23, Z24, Z25)
	ROWVNNI((R8)(R10*2), Z4, Z26, Z27, Z28)
	ROWVNNI((R8)(R12*1), Z5, Z29, Z30, Z31)
	ADDQ $4, R8
	DECQ CX
	JNZ  loop

	COLUMNS8
	CMPB acc+64(FP), $0
	JNE  add
	STORELOW
	STOREHIGH
	VZEROUPPER
	RET

add:
	ADDLOW
	ADDHIGH
	VZEROUPPER
	RET

// func tile4x48vnni(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)
TEXT ·tile4x48vnni(SB), NOSPLIT, $0-65
	ARGS8
	ZEROLOW

loop:
	LOADB
	ROWVNNI((R8), Z3, Z8, Z9, Z10)
	ROWVNNI((R8)(R9*1), Z4, Z11, Z12, Z13)
	ROWVNNI((R8)(R9*2), Z5, Z14, Z15, Z16)
	ROWVNNI((R8)(R10*1), Z6, Z17, Z18, Z19)
	ADDQ $4, R8
	DECQ CX
	JNZ  loop

	COLUMNS8
	CMPB acc+64(FP), $0
	JNE  add
	STORELOW
	VZEROUPPER
	RET

add:
	ADDLOW
	VZEROUPPER
	RET

// func tile8x48bw(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)
TEXT ·tile8x48bw(SB), NOSPLIT, $0-65
	ARGS8
	LEAQ (R9)(R9*4), R11
	LEAQ (R10)(R9*4), R12
	ONES512
	ZEROLOW
	ZEROHIGH

loop:
	LOADB
	ROWBW((R8), Z8, Z9, Z10)
	ROWBW((R8)(R9*1), Z11, Z12, Z13)
	ROWBW((R8)(R9*2), Z14, Z15, Z16)
	ROWBW((R8)(R10*1), Z17, Z18, Z19)
	ROWBW((R8)(R9*4), Z20, Z21, Z22)
	ROWBW((R8)(R11*1), Z23, Z24, Z25)
	ROWBW((R8)(R10*2), Z26, Z27, Z28)
	ROWBW((R8)(R12*1), Z29, Z30, Z31)
	ADDQ $4, R8
	DECQ CX
	JNZ  loop

	COLUMNS8
	CMPB acc+64(FP), $0
	JNE  add
	STORELOW
	STOREHIGH
	VZEROUPPER
	RET

add:
	ADDLOW
	ADDHIGH
	VZEROUPPER
	RET

// func tile4x48bw(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)
TEXT ·tile4x48bw(SB), NOSPLIT, $0-65
	ARGS8
	ONES512
	ZEROLOW

loop:
	LOADB
	ROWBW((R8), Z8, Z9, Z10)
	ROWBW((R8)(R9*1), Z11, Z12, Z13)
	ROWBW((R8)(R9*2), Z14, Z15, Z16)
	ROWBW((R8)(R10*1), Z17, Z18, Z19)
	ADDQ $4, R8
	DECQ CX
	JNZ  loop

	COLUMNS8
	CMPB acc+64(FP), $0
	JNE  add
	STORELOW
	VZEROUPPER
	RET

add:
	ADDLOW
	VZEROUPPER
	RET

// Four rows by 24 columns: the codes of B come from memory, as sums take twelve
// of the sixteen registers. Y3 is ones.
#define ADDAVX2(at, t, c) \
	VPMADDUBSW at, Y0, t  \
	VPMADDWD   Y3, t, t   \
	VPADDD     t, c, c

#define ROWAVX2(addr, c0, c1, c2) \
	VPBROADCASTD addr, Y0     \
	ADDAVX2((DX), Y1, c0)     \
	ADDAVX2(32(DX), Y2, c1)   \
	ADDAVX2(64(DX), Y1, c2)

#define FLOATAVX2(c, at) \
	VCVTDQ2PS    c, c              \
	VFNMADD231PS at+96(AX), Y1, c  \
	VMULPS       Y0, c, c          \
	VMULPS       at+0(AX), c, c

#define FLOATROWAVX2(c0, c1, c2) \
	VBROADCASTSS (BX), Y0   \
	VBROADCASTSS 4(BX), Y1  \
	FLOATAVX2(c0, 0)        \
	FLOATAVX2(c1, 32)       \
	FLOATAVX2(c2, 64)       \
	ADDQ $8, BX

#define STOREAVX2(c0, c1, c2) \
	FLOATROWAVX2(c0, c1, c2) \
	VMOVUPS c0, (DI)         \
	VMOVUPS c1, 32(DI)       \
	VMOVUPS c2, 64(DI)       \
	ADDQ    SI, DI

#define ADDROWAVX2(c0, c1, c2) \
	FLOATROWAVX2(c0, c1, c2) \
	VADDPS  (DI), c0, c0     \
	VADDPS  32(DI), c1, c1   \
	VADDPS  64(DI), c2, c2   \
	VMOVUPS c0, (DI)         \
	VMOVUPS c1, 32(DI)       \
	VMOVUPS c2, 64(DI)       \
	ADDQ    SI, DI

// func tile8avx2(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)
TEXT ·tile8avx2(SB), NOSPLIT, $0-65
	ARGS8
	VPCMPEQD Y3, Y3, Y3
	VPSRLW   $15, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11
	VPXOR Y12, Y12, Y12
	VPXOR Y13, Y13, Y13
	VPXOR Y14, Y14, Y14
	VPXOR Y15, Y15, Y15

loop:
	ROWAVX2((R8), Y4, Y5, Y6)
	ROWAVX2((R8)(R9*1), Y7, Y8, Y9)
	ROWAVX2((R8)(R9*2), Y10, Y11, Y12)
	ROWAVX2((R8)(R10*1), Y13, Y14, Y15)
	PREFETCHT0 768(DX)
	PREFETCHT0 832(DX)
	ADDQ $96, DX
	ADDQ $4, R8
	DECQ CX
	JNZ  loop

	CMPB acc+64(FP), $0
	JNE  add
	STOREAVX2(Y4, Y5, Y6)
	STOREAVX2(Y7, Y8, Y9)
	STOREAVX2(Y10, Y11, Y12)
	STOREAVX2(Y13, Y14, Y15)
	VZEROUPPER
	RET

add:
	ADDROWAVX2(Y4, Y5, Y6)
	ADDROWAVX2(Y7, Y8, Y9)
	ADDROWAVX2(Y10, Y11, Y12)
	ADDROWAVX2(Y13, Y14, Y15)
	VZEROUPPER
	RET

// func boundsavx2(x *float32, n int) (lo, hi float32, top uint32)
//
// n is a positive multiple of 8. top is the largest element as bits without the
// sign: those of infinities and NaN are above all others.
TEXT ·boundsavx2(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), DX
	XORQ CX, CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VPCMPEQD Y3, Y3, Y3
	VPSRLD   $1, Y3, Y3 // all bits but the sign

loopb:
	VMOVUPS (SI)(CX*4), Y4
	VMINPS  Y4, Y0, Y0
	VMAXPS  Y4, Y1, Y1
	VPAND   Y4, Y3, Y5
	VPMAXUD Y5, Y2, Y2
	ADDQ    $8, CX
	CMPQ    CX, DX
	JLT     loopb

	VEXTRACTF128 $1, Y0, X4
	VMINPS       X4, X0, X0
	VPSHUFD      $0x4E, X0, X4
	VMINPS       X4, X0, X0
	VPSHUFD      $0xB1, X0, X4
	VMINPS       X4, X0, X0
	VMOVSS       X0, lo+16(FP)
	VEXTRACTF128 $1, Y1, X4
	VMAXPS       X4, X1, X1
	VPSHUFD      $0x4E, X1, X4
	VMAXPS       X4, X1, X1
	VPSHUFD      $0xB1, X1, X4
	VMAXPS       X4, X1, X1
	VMOVSS       X1, hi+20(FP)
	VEXTRACTI128 $1, Y2, X4
	VPMAXUD      X4, X2, X2
	VPSHUFD      $0x4E, X2, X4
	VPMAXUD      X4, X2, X2
	VPSHUFD      $0xB1, X2, X4
	VPMAXUD      X4, X2, X2
	VMOVD        X2, AX
	MOVL         AX, top+24(FP)
	VZEROUPPER
	RET

// func quantizeU8avx2(dst *uint8, x *float32, f float32, zero int32, n int)
//
// n is a positive multiple of 32. The packing saturates to [0, 255] and works in
// halves of 16 bytes; the permutation puts its groups of four in order.
TEXT ·quantizeU8avx2(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	VBROADCASTSS f+16(FP), Y0
	MOVL         zero+20(FP), AX
	VMOVD        AX, X6
	VPBROADCASTD X6, Y6
	MOVQ         n+24(FP), DX
	XORQ         CX, CX
	VMOVDQU      orderU8<>(SB), Y5

loopq:
	VMULPS     (SI)(CX*4), Y0, Y1
	VMULPS     32(SI)(CX*4), Y0, Y2
	VMULPS     64(SI)(CX*4), Y0, Y3
	VMULPS     96(SI)(CX*4), Y0, Y4
	VCVTPS2DQ  Y1, Y1
	VCVTPS2DQ  Y2, Y2
	VCVTPS2DQ  Y3, Y3
	VCVTPS2DQ  Y4, Y4
	VPADDD     Y6, Y1, Y1
	VPADDD     Y6, Y2, Y2
	VPADDD     Y6, Y3, Y3
	VPADDD     Y6, Y4, Y4
	VPACKSSDW  Y2, Y1, Y1
	VPACKSSDW  Y4, Y3, Y3
	VPACKUSWB  Y3, Y1, Y1
	VPERMD     Y1, Y5, Y1
	VMOVDQU    Y1, (DI)(CX*1)
	ADDQ       $32, CX
	CMPQ       CX, DX
	JLT        loopq
	VZEROUPPER
	RET

DATA orderU8<>+0(SB)/8, $0x0000000400000000
DATA orderU8<>+8(SB)/8, $0x0000000500000001
DATA orderU8<>+16(SB)/8, $0x0000000600000002
DATA orderU8<>+24(SB)/8, $0x0000000700000003
GLOBL orderU8<>(SB), RODATA|NOPTR, $32
