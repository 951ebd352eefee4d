//go:build amd64 && !purego

#include "textflag.h"

// Both kernels take four tokens of the query, R8-R11, at a time against the 16
// codes of a block. A lane has one code; of a group it has the four components, which a
// product adds up.
#define QUERY \
	MOVQ best+0(FP), DI    \
	MOVQ q+8(FP), R8       \
	MOVQ sums+16(FP), R12  \
	MOVQ block+24(FP), SI  \
	MOVQ scales+32(FP), AX \
	MOVQ quads+40(FP), R13 \
	MOVQ groups+48(FP), DX

// The token behind those that R8 walked through, and the three after it; each has 4·DX bytes.
#define NEXTQUERY \
	LEAQ (R8)(DX*4), R9   \
	LEAQ (R9)(DX*4), R10  \
	LEAQ (R10)(DX*4), R11

// Make a float of the sums of products in a, in place, and raise best at byte at to it.
#define RAISE512(a, token, at) \
	MOVL         (4*token)(R12), BX \
	IMULL        top+56(FP), BX     \
	VPBROADCASTD BX, Z10            \
	VPADDD       a, a, a            \
	VPSUBD       Z10, a, a          \
	VCVTDQ2PS    a, a               \
	VMULPS       Z31, a, a          \
	VMAXPS       at(DI), a, a       \
	VMOVUPS      a, at(DI)

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

// func maxSimvnni(best *float32, q *int8, sums *int32, block, scales *byte, quads, groups int, top int32, unit float32)
// quads and groups are positive. Groups with an even number are added up in Z0-Z3, the others in Z4-Z7: a sum of four
// alone would wait for itself.
TEXT ·maxSimvnni(SB), NOSPLIT, $0-64
	QUERY
	VPMOVZXWD    (AX), Z31
	VCVTDQ2PS    Z31, Z31
	VBROADCASTSS unit+60(FP), Z30
	VMULPS       Z30, Z31, Z31

quad:
	NEXTQUERY
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	MOVQ   SI, AX
	XORQ   CX, CX
	MOVQ   DX, BX
	ANDQ   $-2, BX
	JZ     odd

pair:
	VMOVDQU64     (AX), Z8
	VMOVDQU64     64(AX), Z9
	VPDPBUSD.BCST (R8)(CX*4), Z8, Z0
	VPDPBUSD.BCST (R9)(CX*4), Z8, Z1
	VPDPBUSD.BCST (R10)(CX*4), Z8, Z2
	VPDPBUSD.BCST (R11)(CX*4), Z8, Z3
	VPDPBUSD.BCST 4(R8)(CX*4), Z9, Z4
	VPDPBUSD.BCST 4(R9)(CX*4), Z9, Z5
	VPDPBUSD.BCST 4(R10)(CX*4), Z9, Z6
	VPDPBUSD.BCST 4(R11)(CX*4), Z9, Z7
	ADDQ          $128, AX
	ADDQ          $2, CX
	CMPQ          CX, BX
	JLT           pair

odd:
	CMPQ          CX, DX
	JEQ           raise
	VMOVDQU64     (AX), Z8
	VPDPBUSD.BCST (R8)(CX*4), Z8, Z0
	VPDPBUSD.BCST (R9)(CX*4), Z8, Z1
	VPDPBUSD.BCST (R10)(CX*4), Z8, Z2
	VPDPBUSD.BCST (R11)(CX*4), Z8, Z3

raise:
	VPADDD Z4, Z0, Z0
	VPADDD Z5, Z1, Z1
	VPADDD Z6, Z2, Z2
	VPADDD Z7, Z3, Z3
	RAISE512(Z0, 0, 0)
	RAISE512(Z1, 1, 64)
	RAISE512(Z2, 2, 128)
	RAISE512(Z3, 3, 192)
	ADDQ   $256, DI
	ADDQ   $16, R12
	LEAQ   (R11)(DX*4), R8
	DECQ   R13
	JNZ    quad
	VZEROUPPER
	RET

// func maxSimavx2(best *float32, q *int8, sums *int32, block, scales *byte, quads, groups int, top int32, unit float32, step int)
// quads, groups and step are positive. Products of step groups fit 16 bits.
TEXT ·maxSimavx2(SB), NOSPLIT, $256-72
	QUERY
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
