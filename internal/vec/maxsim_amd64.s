//go:build amd64 && !purego

#include "textflag.h"

// Both kernels take some tokens of the query at a time against the 16 codes of a
// block. A lane has one code; of a group it has the four components, which a product
// adds up.
#define QUERY(number) \
	MOVQ best+0(FP), DI     \
	MOVQ q+8(FP), R8        \
	MOVQ sums+16(FP), R12   \
	MOVQ block+24(FP), SI   \
	MOVQ scales+32(FP), AX  \
	MOVQ number+40(FP), R13 \
	MOVQ groups+48(FP), DX

// The token behind those that R8 walked through, and the three after it; each has 4·DX bytes.
#define NEXTQUERY \
	LEAQ (R8)(DX*4), R9   \
	LEAQ (R9)(DX*4), R10  \
	LEAQ (R10)(DX*4), R11

// The components of a group of all codes, whose bits begin at bit X13 of the bytes at AX.
#define COMPONENTS512 \
	VMOVDQU64 (AX), Z14    \
	VPSRLW X13, Z14, Z14   \
	VPANDD Z12, Z14, Z14

// Add their products with three tokens, of which the first is at r, to a, b and c.
#define THREE512(r, a, b, c) \
	VPDPBUSD.BCST (r), Z14, a       \
	VPDPBUSD.BCST (r)(DX*4), Z14, b \
	VPDPBUSD.BCST (r)(DX*8), Z14, c

// Begin with the parts of the bytes; go on with the next part while there is one.
#define FIRSTPART512 \
	XORQ BX, BX
#define PART512 \
	VMOVQ BX, X13         \
	MOVQ  SI, AX          \
	MOVQ  part+56(FP), CX
#define NEXTPART512(again) \
	ADDQ bits+64(FP), BX \
	CMPQ BX, $8          \
	JLT  again

// Make a float of the sums of products in a, in place, and raise best at byte at to it.
#define RAISE512(a, token, at) \
	MOVL         (4*(token))(R12), BX \
	IMULL        top+72(FP), BX     \
	VPBROADCASTD BX, Z15            \
	VPADDD       a, a, a            \
	VPSUBD       Z15, a, a          \
	VCVTDQ2PS    a, a               \
	VMULPS       Z31, a, a          \
	VMAXPS       (at)(DI), a, a     \
	VMOVUPS      a, (at)(DI)

// The same for four tokens, of which the first has the given number.
#define RAISEFOUR512(a, b, c, d, token, at) \
	RAISE512(a, token, at)       \
	RAISE512(b, token+1, at+64)  \
	RAISE512(c, token+2, at+128) \
	RAISE512(d, token+3, at+192)

#define CLEARFOUR512(a, b, c, d) \
	VPXORQ a, a, a \
	VPXORQ b, b, b \
	VPXORQ c, c, c \
	VPXORQ d, d, d

// Add the 16-bit sums in a to the 32-bit sums at byte at of the frame.
#define WIDEN(a, at) \
	VPMADDWD Y12, a, a           \
	VPADDD   sum-256+at(SP), a, a \
	VMOVDQU  a, sum-256+at(SP)

#define PRODUCTS(r, lo, hi) \
	VPBROADCASTD (r)(CX*4), Y10 \
	VPMADDUBSW   Y10, Y8, Y11   \
	VPADDW       Y11, lo, lo    \
	VPMADDUBSW   Y10, Y9, Y11   \
	VPADDW       Y11, hi, hi

#define RAISE256(token, from, at, scales) \
	VMOVDQU   sum-256+from(SP), Y0 \
	VPADDD    Y0, Y0, Y0           \
	VPSUBD    Y10, Y0, Y0          \
	VCVTDQ2PS Y0, Y0               \
	VMULPS    scales, Y0, Y0       \
	VMAXPS    at(DI), Y0, Y0       \
	VMOVUPS   Y0, at(DI)

#define RAISETOKEN(token, at) \
	MOVL         (4*token)(R12), BX \
	IMULL        top+56(FP), BX     \
	VMOVD        BX, X10            \
	VPBROADCASTD X10, Y10           \
	RAISE256(token, at, at, Y14)    \
	RAISE256(token, at+32, at+32, Y15)

// func unpackavx2(dst, src *byte, n, stride, bits int)
// n is a positive multiple of 32; bits is 2 or 4. Part i of the bits goes to dst+i·stride.
TEXT ·unpackavx2(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         src+8(FP), SI
	MOVQ         n+16(FP), DX
	MOVQ         stride+24(FP), R8
	MOVQ         bits+32(FP), CX
	MOVQ         $0x0F0F0F0F, AX
	MOVQ         $0x03030303, BX
	CMPQ         CX, $2
	CMOVQEQ      BX, AX
	VMOVD        AX, X15
	VPBROADCASTD X15, Y15
	VMOVD        CX, X14
	LEAQ         (R8)(R8*2), R9
	XORQ         AX, AX

unpack:
	VMOVDQU (SI)(AX*1), Y0
	VPAND   Y15, Y0, Y1
	VPSRLW  X14, Y0, Y0
	VPAND   Y15, Y0, Y2
	LEAQ    (DI)(AX*1), R10
	VMOVDQU Y1, (R10)
	VMOVDQU Y2, (R10)(R8*1)
	CMPQ    CX, $4
	JEQ     next
	VPSRLW  X14, Y0, Y0
	VPAND   Y15, Y0, Y1
	VPSRLW  X14, Y0, Y0
	VPAND   Y15, Y0, Y2
	VMOVDQU Y1, (R10)(R8*2)
	VMOVDQU Y2, (R10)(R9*1)

next:
	ADDQ $32, AX
	CMPQ AX, DX
	JLT  unpack
	VZEROUPPER
	RET

// func maxSimvnni(best *float32, q *int8, sums *int32, block, scales *byte, tokens, groups, part, bits int, top int32, unit float32)
// tokens is a positive multiple of 4, groups and part are positive. A byte of the block has 8/bits components: those of the first part
// groups in its lowest bits, those of the next above them. Twelve tokens at a time, each with a sum of its own, keep the multipliers busy;
// what is left is eight or four.
TEXT ·maxSimvnni(SB), NOSPLIT, $0-80
	QUERY(tokens)
	VPMOVZXWD    (AX), Z31
	VCVTDQ2PS    Z31, Z31
	VBROADCASTSS unit+76(FP), Z30
	VMULPS       Z30, Z31, Z31
	MOVQ         bits+64(FP), CX
	MOVQ         $1, BX
	SHLQ         CX, BX
	DECQ         BX
	VPBROADCASTB BX, Z12

next512:
	LEAQ (DX)(DX*2), BX
	LEAQ (R8)(BX*4), R9
	LEAQ (R9)(BX*4), R10
	LEAQ (R10)(BX*4), R11
	CMPQ R13, $12
	JGE  twelve
	CMPQ R13, $8
	JGE  eight
	CMPQ R13, $4
	JGE  four
	VZEROUPPER
	RET

twelve:
	CLEARFOUR512(Z0, Z1, Z2, Z3)
	CLEARFOUR512(Z4, Z5, Z6, Z7)
	CLEARFOUR512(Z8, Z9, Z10, Z11)
	FIRSTPART512

twelvepart:
	PART512

twelvegroup:
	COMPONENTS512
	THREE512(R8, Z0, Z1, Z2)
	THREE512(R9, Z3, Z4, Z5)
	THREE512(R10, Z6, Z7, Z8)
	THREE512(R11, Z9, Z10, Z11)
	ADDQ $4, R8
	ADDQ $4, R9
	ADDQ $4, R10
	ADDQ $4, R11
	ADDQ $64, AX
	DECQ CX
	JNZ  twelvegroup
	NEXTPART512(twelvepart)
	RAISEFOUR512(Z0, Z1, Z2, Z3, 0, 0)
	RAISEFOUR512(Z4, Z5, Z6, Z7, 4, 256)
	RAISEFOUR512(Z8, Z9, Z10, Z11, 8, 512)
	ADDQ $768, DI
	ADDQ $48, R12
	LEAQ (R11)(DX*8), R8
	SUBQ $12, R13
	JMP  next512

eight:
	CLEARFOUR512(Z0, Z1, Z2, Z3)
	CLEARFOUR512(Z4, Z5, Z6, Z7)
	FIRSTPART512

eightpart:
	PART512

eightgroup:
	COMPONENTS512
	THREE512(R8, Z0, Z1, Z2)
	THREE512(R9, Z3, Z4, Z5)
	VPDPBUSD.BCST (R10), Z14, Z6
	VPDPBUSD.BCST (R10)(DX*4), Z14, Z7
	ADDQ $4, R8
	ADDQ $4, R9
	ADDQ $4, R10
	ADDQ $64, AX
	DECQ CX
	JNZ  eightgroup
	NEXTPART512(eightpart)
	RAISEFOUR512(Z0, Z1, Z2, Z3, 0, 0)
	RAISEFOUR512(Z4, Z5, Z6, Z7, 4, 256)
	VZEROUPPER
	RET

four:
	CLEARFOUR512(Z0, Z1, Z2, Z3)
	FIRSTPART512

fourpart:
	PART512

fourgroup:
	COMPONENTS512
	THREE512(R8, Z0, Z1, Z2)
	VPDPBUSD.BCST (R9), Z14, Z3
	ADDQ $4, R8
	ADDQ $4, R9
	ADDQ $64, AX
	DECQ CX
	JNZ  fourgroup
	NEXTPART512(fourpart)
	RAISEFOUR512(Z0, Z1, Z2, Z3, 0, 0)
	VZEROUPPER
	RET

// func maxSimavx2(best *float32, q *int8, sums *int32, block, scales *byte, quads, groups int, top int32, unit float32, step int)
// quads, groups and step are positive. Products of step groups fit 16 bits.
TEXT ·maxSimavx2(SB), NOSPLIT, $256-72
	QUERY(quads)
	VPMOVZXWD    (AX), Y14
	VPMOVZXWD    16(AX), Y15
	VCVTDQ2PS    Y14, Y14
	VCVTDQ2PS    Y15, Y15
	VBROADCASTSS unit+60(FP), Y13
	VMULPS       Y13, Y14, Y14
	VMULPS       Y13, Y15, Y15
	MOVL         $0x00010001, BX
	VMOVD        BX, X12
	VPBROADCASTD X12, Y12

quad2:
	NEXTQUERY
	VPXOR   Y0, Y0, Y0
	VMOVDQU Y0, sum-256(SP)
	VMOVDQU Y0, sum-224(SP)
	VMOVDQU Y0, sum-192(SP)
	VMOVDQU Y0, sum-160(SP)
	VMOVDQU Y0, sum-128(SP)
	VMOVDQU Y0, sum-96(SP)
	VMOVDQU Y0, sum-64(SP)
	VMOVDQU Y0, sum-32(SP)
	MOVQ    SI, AX
	XORQ    CX, CX

part:
	MOVQ    step+64(FP), BX
	ADDQ    CX, BX
	CMPQ    BX, DX
	CMOVQGT DX, BX
	VPXOR   Y0, Y0, Y0
	VPXOR   Y1, Y1, Y1
	VPXOR   Y2, Y2, Y2
	VPXOR   Y3, Y3, Y3
	VPXOR   Y4, Y4, Y4
	VPXOR   Y5, Y5, Y5
	VPXOR   Y6, Y6, Y6
	VPXOR   Y7, Y7, Y7

group:
	VMOVDQU (AX), Y8
	VMOVDQU 32(AX), Y9
	PRODUCTS(R8, Y0, Y1)
	PRODUCTS(R9, Y2, Y3)
	PRODUCTS(R10, Y4, Y5)
	PRODUCTS(R11, Y6, Y7)
	ADDQ    $64, AX
	INCQ    CX
	CMPQ    CX, BX
	JLT     group
	WIDEN(Y0, 0)
	WIDEN(Y1, 32)
	WIDEN(Y2, 64)
	WIDEN(Y3, 96)
	WIDEN(Y4, 128)
	WIDEN(Y5, 160)
	WIDEN(Y6, 192)
	WIDEN(Y7, 224)
	CMPQ    CX, DX
	JLT     part
	RAISETOKEN(0, 0)
	RAISETOKEN(1, 64)
	RAISETOKEN(2, 128)
	RAISETOKEN(3, 192)
	ADDQ    $256, DI
	ADDQ    $16, R12
	LEAQ    (R11)(DX*4), R8
	DECQ    R13
	JNZ     quad2
	VZEROUPPER
	RET

// func maxlanesavx2(dst, best *float32, n int)
//
// n > 0.
TEXT ·maxlanesavx2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ best+8(FP), SI
	MOVQ n+16(FP), DX

lanes:
	VMOVUPS      (SI), Y0
	VMAXPS       32(SI), Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VMAXPS       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSS       X0, (DI)
	ADDQ         $64, SI
	ADDQ         $4, DI
	DECQ         DX
	JNZ          lanes
	VZEROUPPER
	RET
