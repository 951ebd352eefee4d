//go:build amd64 && !purego

#include "textflag.h"
#include "macros_amd64.h"

#define ROWS \
	MOVQ out+0(FP), AX \
	MOVQ q+8(FP), DI   \
	MOVQ a+16(FP), R8  \
	MOVQ b+24(FP), R9  \
	MOVQ c+32(FP), R10 \
	MOVQ d+40(FP), R11 \
	MOVQ n+48(FP), DX  \
	XORQ CX, CX

// VPDPBUSD multiplies unsigned by signed bytes. Rows are made unsigned by
// adding 128, which is flipping the upper bit with Z15; what that adds to each product is
// 128·q, which is taken off the sums. Sums wrap around, so the difference is exact.

// The sums of four rows, of which 64 bytes are in Z9-Z12, gain their products with q in Z8.
#define STEP \
	VPDPBUSD Z8, Z9, Z0  \
	VPDPBUSD Z8, Z10, Z1 \
	VPDPBUSD Z8, Z11, Z2 \
	VPDPBUSD Z8, Z12, Z3

// STEP of the 64 bytes from CX on.
#define STEP64 \
	VMOVDQU64 (DI)(CX*1), Z8        \
	VPXORQ    (R8)(CX*1), Z15, Z9   \
	VPXORQ    (R9)(CX*1), Z15, Z10  \
	VPXORQ    (R10)(CX*1), Z15, Z11 \
	VPXORQ    (R11)(CX*1), Z15, Z12 \
	STEP

// STEP of the bytes that K1 names.
#define STEPMASKED \
	VMOVDQU8.Z (DI)(CX*1), K1, Z8   \
	VMOVDQU8.Z (R8)(CX*1), K1, Z9   \
	VMOVDQU8.Z (R9)(CX*1), K1, Z10  \
	VMOVDQU8.Z (R10)(CX*1), K1, Z11 \
	VMOVDQU8.Z (R11)(CX*1), K1, Z12 \
	VPXORQ     Z15, Z9, Z9          \
	VPXORQ     Z15, Z10, Z10        \
	VPXORQ     Z15, Z11, Z11        \
	VPXORQ     Z15, Z12, Z12        \
	STEP

// func dotInt8x4vnni(out *[4]int32, q, a, b, c, d *int8, n int)
// n ≥ 1, any; the bytes behind the last full 64 are read under a mask. Z14 sums 128·q.
TEXT ·dotInt8x4vnni(SB), NOSPLIT, $0-56
	ROWS
	MOVL         $0x80808080, BX
	VPBROADCASTD BX, Z15
	ZEROSUMS
	VPXORQ       Z14, Z14, Z14
	MOVQ         DX, SI
	ANDQ         $-64, SI
	JZ           tail

loop:
	STEP64
	VPDPBUSD Z8, Z15, Z14
	ADDQ     $64, CX
	CMPQ     CX, SI
	JLT      loop

tail:
	ANDQ     $63, DX
	JZ       sum
	FIRST(DX)
	STEPMASKED
	VPDPBUSD Z8, Z15, Z14

sum:
	SUMLESS(Z14)
	VZEROUPPER
	RET

// Of q at DI: SI gets the bytes of its full 64, DX the others, K1 names them, and Z14 sums 128·q.
// R8 and CX change.
#define QUERY \
	MOVL         $0x80808080, R8 \
	VPBROADCASTD R8, Z15         \
	VPXORQ       Z14, Z14, Z14   \
	MOVQ         DX, SI          \
	ANDQ         $-64, SI        \
	ANDQ         $63, DX         \
	FIRST(DX)                    \
	XORQ         CX, CX          \
	CMPQ         SI, $0          \
	JE           qtail           \
qloop:                               \
	VMOVDQU64 (DI)(CX*1), Z8     \
	VPDPBUSD  Z8, Z15, Z14       \
	ADDQ      $64, CX            \
	CMPQ      CX, SI             \
	JLT       qloop              \
qtail:                               \
	VMOVDQU8.Z (DI)(CX*1), K1, Z8 \
	VPDPBUSD   Z8, Z15, Z14

// The sums of the rows at R8-R11 with q, as QUERY left it, into out[0:4].
#define SUMROWS \
	ZEROSUMS       \
	XORQ CX, CX    \
	CMPQ SI, $0    \
	JE   rtail     \
rloop:                 \
	STEP64         \
	ADDQ $64, CX   \
	CMPQ CX, SI    \
	JLT  rloop     \
rtail:                 \
	CMPQ DX, $0    \
	JE   rsum      \
	STEPMASKED     \
rsum:                  \
	SUMLESS(Z14)

// func dotInt8Rowsvnni(out *int32, q, rows *int8, d, groups int)
// groups of four rows, one after another; d and groups ≥ 1. As dotInt8x4vnni, but
// that 128·q is summed once.
TEXT ·dotInt8Rowsvnni(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), AX
	MOVQ q+8(FP), DI
	MOVQ d+24(FP), DX
	MOVQ groups+32(FP), R12
	MOVQ DX, R13
	QUERY
	MOVQ rows+16(FP), R8

group:
	LEAQ (R8)(R13*1), R9
	LEAQ (R8)(R13*2), R10
	LEAQ (R9)(R13*2), R11
	SUMROWS
	ADDQ $16, AX
	LEAQ (R11)(R13*1), R8
	DECQ R12
	JNZ  group
	VZEROUPPER
	RET

// func dotInt8Atvnni(out *int32, q *int8, rows **int8, d, n int)
// As dotInt8Rowsvnni for rows that lie apart; d ≥ 1, n ≥ 4. The last four rows overlap those
// before where n is no multiple of four.
TEXT ·dotInt8Atvnni(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), AX
	MOVQ q+8(FP), DI
	MOVQ d+24(FP), DX
	MOVQ n+32(FP), R12
	QUERY
	MOVQ rows+16(FP), BX

agroup:
	NEXTFOUR
	SUMROWS
	PASSFOUR
	JNZ  agroup
	VZEROUPPER
	RET

// VPMADDUBSW multiplies unsigned by signed bytes and adds pairs of products. Rows take on
// the signs of q, and q is made positive: with components from −127 on a pair is at most
// 2·127², which 16 bits hold.

// The sums of four rows in Y0-Y3 gain the products of 32 bytes from CX on. Y14 is 1 in each
// 16 bits.
#define STEP32 \
	VMOVDQU    (DI)(CX*1), Y8  \
	VPABSB     Y8, Y13         \
	VMOVDQU    (R8)(CX*1), Y9  \
	VMOVDQU    (R9)(CX*1), Y10 \
	VMOVDQU    (R10)(CX*1), Y11 \
	VMOVDQU    (R11)(CX*1), Y12 \
	VPSIGNB    Y8, Y9, Y9      \
	VPSIGNB    Y8, Y10, Y10    \
	VPSIGNB    Y8, Y11, Y11    \
	VPSIGNB    Y8, Y12, Y12    \
	VPMADDUBSW Y9, Y13, Y9     \
	VPMADDUBSW Y10, Y13, Y10   \
	VPMADDUBSW Y11, Y13, Y11   \
	VPMADDUBSW Y12, Y13, Y12   \
	VPMADDWD   Y14, Y9, Y9     \
	VPMADDWD   Y14, Y10, Y10   \
	VPMADDWD   Y14, Y11, Y11   \
	VPMADDWD   Y14, Y12, Y12   \
	ADDSTEP

// The products of 16 bytes, widened.
#define STEP16 \
	VPMOVSXBW (DI)(CX*1), Y8   \
	VPMOVSXBW (R8)(CX*1), Y9   \
	VPMOVSXBW (R9)(CX*1), Y10  \
	VPMOVSXBW (R10)(CX*1), Y11 \
	VPMOVSXBW (R11)(CX*1), Y12 \
	VPMADDWD  Y8, Y9, Y9       \
	VPMADDWD  Y8, Y10, Y10     \
	VPMADDWD  Y8, Y11, Y11     \
	VPMADDWD  Y8, Y12, Y12     \
	ADDSTEP

#define ADDSTEP \
	VPADDD Y9, Y0, Y0  \
	VPADDD Y10, Y1, Y1 \
	VPADDD Y11, Y2, Y2 \
	VPADDD Y12, Y3, Y3

#define ZEROSUMS2 \
	VPXOR Y0, Y0, Y0 \
	VPXOR Y1, Y1, Y1 \
	VPXOR Y2, Y2, Y2 \
	VPXOR Y3, Y3, Y3

#define ONES2 \
	VPCMPEQW Y14, Y14, Y14 \
	VPSRLW   $15, Y14, Y14

// func dotInt8x4avx2(out *[4]int32, q, a, b, c, d *int8, n int)
// n is a positive multiple of 16.
TEXT ·dotInt8x4avx2(SB), NOSPLIT, $0-56
	ROWS
	ZEROSUMS2
	ONES2
	MOVQ DX, SI
	ANDQ $-32, SI
	JZ   tail2

loop2:
	STEP32
	ADDQ $32, CX
	CMPQ CX, SI
	JLT  loop2

tail2:
	CMPQ CX, DX
	JEQ  sum2
	STEP16

sum2:
	SUMINT
	RET

// func dotInt8Rowsavx2(out *int32, q, rows *int8, d, groups int)
// groups of four rows, one after another; d is a positive multiple of 16, groups ≥ 1.
TEXT ·dotInt8Rowsavx2(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), AX
	MOVQ q+8(FP), DI
	MOVQ rows+16(FP), R8
	MOVQ d+24(FP), DX
	MOVQ groups+32(FP), R12
	ONES2
	MOVQ DX, SI
	ANDQ $-32, SI

group2:
	LEAQ (R8)(DX*1), R9
	LEAQ (R8)(DX*2), R10
	LEAQ (R9)(DX*2), R11
	ZEROSUMS2
	XORQ CX, CX
	CMPQ SI, $0
	JE   rtail2

rloop2:
	STEP32
	ADDQ $32, CX
	CMPQ CX, SI
	JLT  rloop2

rtail2:
	CMPQ CX, DX
	JEQ  rsum2
	STEP16

rsum2:
	SUMLANES
	ADDQ $16, AX
	LEAQ (R11)(DX*1), R8
	DECQ R12
	JNZ  group2
	VZEROUPPER
	RET

// func dotInt8Atavx2(out *int32, q *int8, rows **int8, d, n int)
// d is a positive multiple of 16, n ≥ 4. The last four rows overlap those before
// where n is no multiple of four.
TEXT ·dotInt8Atavx2(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), AX
	MOVQ q+8(FP), DI
	MOVQ rows+16(FP), BX
	MOVQ d+24(FP), DX
	MOVQ n+32(FP), R12
	ONES2
	MOVQ DX, SI
	ANDQ $-32, SI

agroup2:
	NEXTFOUR
	ZEROSUMS2
	XORQ CX, CX
	CMPQ SI, $0
	JE   atail2

aloop2:
	STEP32
	ADDQ $32, CX
	CMPQ CX, SI
	JLT  aloop2

atail2:
	CMPQ CX, DX
	JEQ  asum2
	STEP16

asum2:
	SUMLANES
	PASSFOUR
	JNZ  agroup2
	VZEROUPPER
	RET

// func axpyInt8avx2(y *float32, f float32, x *int8, n int)
// n is a positive multiple of 16.
TEXT ·axpyInt8avx2(SB), NOSPLIT, $0-32
	MOVQ         y+0(FP), DI
	VBROADCASTSS f+8(FP), Y0
	MOVQ         x+16(FP), SI
	MOVQ         n+24(FP), DX
	XORQ         CX, CX

loopa:
	VPMOVSXBD   (SI)(CX*1), Y1
	VPMOVSXBD   8(SI)(CX*1), Y2
	VCVTDQ2PS   Y1, Y1
	VCVTDQ2PS   Y2, Y2
	VFMADD213PS (DI)(CX*4), Y0, Y1
	VFMADD213PS 32(DI)(CX*4), Y0, Y2
	VMOVUPS     Y1, (DI)(CX*4)
	VMOVUPS     Y2, 32(DI)(CX*4)
	ADDQ        $16, CX
	CMPQ        CX, DX
	JLT         loopa
	VZEROUPPER
	RET

// func maxAbsavx2(x *float32, n int) float32
// n is a positive multiple of 8.
TEXT ·maxAbsavx2(SB), NOSPLIT, $0-20
	MOVQ     x+0(FP), SI
	MOVQ     n+8(FP), DX
	XORQ     CX, CX
	VPCMPEQD Y2, Y2, Y2
	VPSRLD   $1, Y2, Y2 // all bits but the sign
	VXORPS   Y0, Y0, Y0

loopm:
	VANDPS (SI)(CX*4), Y2, Y1
	VMAXPS Y1, Y0, Y0
	ADDQ   $8, CX
	CMPQ   CX, DX
	JLT    loopm
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VMAXPS       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSS       X0, ret+16(FP)
	VZEROUPPER
	RET

// func quantizeavx2(dst *int8, x *float32, f float32, n int)
// n is a positive multiple of 32. The packing works in halves of 16 bytes; the
// permutation puts its groups of four in order.
DATA order<>+0(SB)/8, $0x0000000400000000
DATA order<>+8(SB)/8, $0x0000000500000001
DATA order<>+16(SB)/8, $0x0000000600000002
DATA order<>+24(SB)/8, $0x0000000700000003
GLOBL order<>(SB), RODATA|NOPTR, $32

TEXT ·quantizeavx2(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	VBROADCASTSS f+16(FP), Y0
	MOVQ         n+24(FP), DX
	XORQ         CX, CX
	VMOVDQU      order<>(SB), Y5

loopq:
	VMULPS     (SI)(CX*4), Y0, Y1
	VMULPS     32(SI)(CX*4), Y0, Y2
	VMULPS     64(SI)(CX*4), Y0, Y3
	VMULPS     96(SI)(CX*4), Y0, Y4
	VCVTPS2DQ  Y1, Y1
	VCVTPS2DQ  Y2, Y2
	VCVTPS2DQ  Y3, Y3
	VCVTPS2DQ  Y4, Y4
	VPACKSSDW  Y2, Y1, Y1
	VPACKSSDW  Y4, Y3, Y3
	VPACKSSWB  Y3, Y1, Y1
	VPERMD     Y1, Y5, Y1
	VMOVDQU    Y1, (DI)(CX*1)
	ADDQ       $32, CX
	CMPQ       CX, DX
	JLT        loopq
	VZEROUPPER
	RET
