//go:build amd64 && !purego

#include "textflag.h"
#include "macros_amd64.h"

#define ROWS \
	MOVQ out+0(FP), AX \
	MOVQ lo+8(FP), DI  \
	MOVQ hi+16(FP), SI \
	MOVQ a+24(FP), R8  \
	MOVQ b+32(FP), R9  \
	MOVQ c+40(FP), R10 \
	MOVQ d+48(FP), R11 \
	MOVQ n+56(FP), DX  \
	XORQ CX, CX

// Codes lie in rows plus 8, so unsigned, as VPDPBUSD and VPMADDUBSW want one
// side to be; the fifth sum is of 8 times the query, which is taken off the others.

// The bytes of a row in Z10 times the query in Z8 (lower halves) and Z9 (upper
// ones), added to sum. Z15 has 15 in each byte.
#define STEP(sum) \
	VPANDQ   Z15, Z10, Z11 \
	VPSRLW   $4, Z10, Z10  \
	VPANDQ   Z15, Z10, Z10 \
	VPDPBUSD Z8, Z11, sum  \
	VPDPBUSD Z9, Z10, sum

// STEP of four rows, of the 64 bytes from CX on.
#define STEPFOUR \
	VMOVDQU64 (R8)(CX*1), Z10  \
	STEP(Z0)                   \
	VMOVDQU64 (R9)(CX*1), Z10  \
	STEP(Z1)                   \
	VMOVDQU64 (R10)(CX*1), Z10 \
	STEP(Z2)                   \
	VMOVDQU64 (R11)(CX*1), Z10 \
	STEP(Z3)

// STEP of four rows and the query, of the bytes that K1 names.
#define STEPMASKED \
	VMOVDQU8.Z (DI)(CX*1), K1, Z8   \
	VMOVDQU8.Z (SI)(CX*1), K1, Z9   \
	VMOVDQU8.Z (R8)(CX*1), K1, Z10  \
	STEP(Z0)                        \
	VMOVDQU8.Z (R9)(CX*1), K1, Z10  \
	STEP(Z1)                        \
	VMOVDQU8.Z (R10)(CX*1), K1, Z10 \
	STEP(Z2)                        \
	VMOVDQU8.Z (R11)(CX*1), K1, Z10 \
	STEP(Z3)

// func dotInt4x4vnni(out *[4]int32, lo, hi, a, b, c, d *int8, n int)
// n ≥ 1, any; the bytes behind the last full 64 are read under a mask.
TEXT ·dotInt4x4vnni(SB), NOSPLIT, $0-64
	ROWS
	MOVL         $0x0f0f0f0f, BX
	VPBROADCASTD BX, Z15
	MOVL         $0x08080808, BX
	VPBROADCASTD BX, Z14
	ZEROSUMS
	VPXORQ       Z4, Z4, Z4
	MOVQ         DX, R12
	ANDQ         $-64, R12
	JZ           tail

loop:
	VMOVDQU64 (DI)(CX*1), Z8
	VMOVDQU64 (SI)(CX*1), Z9
	VPDPBUSD  Z8, Z14, Z4
	VPDPBUSD  Z9, Z14, Z4
	STEPFOUR
	ADDQ      $64, CX
	CMPQ      CX, R12
	JLT       loop

tail:
	ANDQ       $63, DX
	JZ         sum
	FIRST(DX)
	STEPMASKED
	VPDPBUSD   Z8, Z14, Z4
	VPDPBUSD   Z9, Z14, Z4

sum:
	SUMLESS(Z4)
	VZEROUPPER
	RET

// func dotInt4Atvnni(out *int32, lo, hi *int8, rows **int8, d, n int)
// As dotInt4x4vnni for rows that lie apart, but that 8·q is summed once; d, the bytes of a row,
// ≥ 1, n ≥ 4. The last four rows overlap those before where n is no multiple of four.
TEXT ·dotInt4Atvnni(SB), NOSPLIT, $0-48
	MOVQ         out+0(FP), AX
	MOVQ         lo+8(FP), DI
	MOVQ         hi+16(FP), SI
	MOVQ         d+32(FP), DX
	MOVQ         n+40(FP), R12
	MOVL         $0x0f0f0f0f, BX
	VPBROADCASTD BX, Z15
	MOVL         $0x08080808, BX
	VPBROADCASTD BX, Z14
	VPXORQ       Z12, Z12, Z12
	MOVQ         DX, R13
	ANDQ         $63, R13
	FIRST(R13)
	ANDQ         $-64, DX
	MOVQ         rows+24(FP), BX
	XORQ         CX, CX
	CMPQ         DX, $0
	JE           qtail

qloop:
	VMOVDQU64 (DI)(CX*1), Z8
	VMOVDQU64 (SI)(CX*1), Z9
	VPDPBUSD  Z8, Z14, Z12
	VPDPBUSD  Z9, Z14, Z12
	ADDQ      $64, CX
	CMPQ      CX, DX
	JLT       qloop

qtail:
	VMOVDQU8.Z (DI)(CX*1), K1, Z8
	VMOVDQU8.Z (SI)(CX*1), K1, Z9
	VPDPBUSD   Z8, Z14, Z12
	VPDPBUSD   Z9, Z14, Z12

agroup:
	NEXTFOUR
	ZEROSUMS
	XORQ CX, CX
	CMPQ DX, $0
	JE   atail

aloop:
	VMOVDQU64 (DI)(CX*1), Z8
	VMOVDQU64 (SI)(CX*1), Z9
	STEPFOUR
	ADDQ      $64, CX
	CMPQ      CX, DX
	JLT       aloop

atail:
	CMPQ CX, d+32(FP)
	JEQ  asum
	STEPMASKED

asum:
	SUMLESS(Z12)
	PASSFOUR
	JNZ  agroup
	VZEROUPPER
	RET

// Four equal bytes into all of y, the lower half of which is x. R13 changes.
#define BYTES(four, x, y) \
	MOVL         $four, R13 \
	MOVQ         R13, x     \
	VPBROADCASTD x, y

// The same of 32 bytes at p, in sums of 16 bits, four products of at most
// 15·128 each, that are then added to sum. Y13 has ones of 16 bits.
#define STEP2(p, sum) \
	VMOVDQU    (p)(CX*1), Y10 \
	VPAND      Y15, Y10, Y11  \
	VPSRLW     $4, Y10, Y10   \
	VPAND      Y15, Y10, Y10  \
	VPMADDUBSW Y8, Y11, Y11   \
	VPMADDUBSW Y9, Y10, Y10   \
	VPADDW     Y10, Y11, Y11  \
	VPMADDWD   Y13, Y11, Y11  \
	VPADDD     Y11, sum, sum

// func dotInt4x4avx2(out *[4]int32, lo, hi, a, b, c, d *int8, n int)
// n is a positive multiple of 32.
TEXT ·dotInt4x4avx2(SB), NOSPLIT, $0-64
	ROWS
	BYTES(0x0f0f0f0f, X15, Y15)
	BYTES(0x08080808, X14, Y14)
	VPCMPEQD     Y13, Y13, Y13
	VPSRLW       $15, Y13, Y13
	VPXOR        Y0, Y0, Y0
	VPXOR        Y1, Y1, Y1
	VPXOR        Y2, Y2, Y2
	VPXOR        Y3, Y3, Y3
	VPXOR        Y4, Y4, Y4

loop2:
	VMOVDQU    (DI)(CX*1), Y8
	VMOVDQU    (SI)(CX*1), Y9
	VPMADDUBSW Y8, Y14, Y11
	VPMADDUBSW Y9, Y14, Y10
	VPADDW     Y10, Y11, Y11
	VPMADDWD   Y13, Y11, Y11
	VPADDD     Y11, Y4, Y4
	STEP2(R8, Y0)
	STEP2(R9, Y1)
	STEP2(R10, Y2)
	STEP2(R11, Y3)
	ADDQ       $32, CX
	CMPQ       CX, DX
	JLT        loop2
	VPSUBD     Y4, Y0, Y0
	VPSUBD     Y4, Y1, Y1
	VPSUBD     Y4, Y2, Y2
	VPSUBD     Y4, Y3, Y3
	SUMINT
	RET

// The same of 32 bytes, in sums of 16 bits, which hold four times that.
#define STEP4(p, sum) \
	VMOVDQU    (p)(CX*1), Y10 \
	VPAND      Y15, Y10, Y11  \
	VPSRLW     $4, Y10, Y10   \
	VPAND      Y15, Y10, Y10  \
	VPMADDUBSW Y8, Y11, Y11   \
	VPMADDUBSW Y9, Y10, Y10   \
	VPADDW     Y11, sum, sum  \
	VPADDW     Y10, sum, sum

// What those hold is added to sum.
#define WIDEN(from, sum) \
	VPMADDWD Y13, from, from \
	VPADDD   from, sum, sum

// func dotInt4Atavx2(out *int32, lo, hi *int8, rows **int8, d, n int)
// d, the bytes of a row, is a positive multiple of 32; n ≥ 4. The last four rows
// overlap those before where n is no multiple of four. Y14 sums 8·q.
TEXT ·dotInt4Atavx2(SB), NOSPLIT, $0-48
	MOVQ         out+0(FP), AX
	MOVQ         lo+8(FP), DI
	MOVQ         hi+16(FP), SI
	MOVQ         rows+24(FP), BX
	MOVQ         d+32(FP), DX
	MOVQ         n+40(FP), R12
	BYTES(0x08080808, X12, Y12)
	BYTES(0x0f0f0f0f, X15, Y15)
	VPCMPEQD     Y13, Y13, Y13
	VPSRLW       $15, Y13, Y13
	VPXOR        Y14, Y14, Y14
	XORQ         CX, CX

query4:
	VPMADDUBSW (DI)(CX*1), Y12, Y10
	VPMADDUBSW (SI)(CX*1), Y12, Y11
	VPADDW     Y10, Y11, Y11
	WIDEN(Y11, Y14)
	ADDQ       $32, CX
	CMPQ       CX, DX
	JLT        query4

group4:
	NEXTFOUR
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	XORQ  CX, CX

wide4:
	VPXOR   Y4, Y4, Y4
	VPXOR   Y5, Y5, Y5
	VPXOR   Y6, Y6, Y6
	VPXOR   Y7, Y7, Y7
	LEAQ    128(CX), R13
	CMPQ    R13, DX
	CMOVQGT DX, R13

narrow4:
	VMOVDQU (DI)(CX*1), Y8
	VMOVDQU (SI)(CX*1), Y9
	STEP4(R8, Y4)
	STEP4(R9, Y5)
	STEP4(R10, Y6)
	STEP4(R11, Y7)
	ADDQ    $32, CX
	CMPQ    CX, R13
	JLT     narrow4
	WIDEN(Y4, Y0)
	WIDEN(Y5, Y1)
	WIDEN(Y6, Y2)
	WIDEN(Y7, Y3)
	CMPQ    CX, DX
	JLT     wide4
	VPSUBD  Y14, Y0, Y0
	VPSUBD  Y14, Y1, Y1
	VPSUBD  Y14, Y2, Y2
	VPSUBD  Y14, Y3, Y3
	SUMLANES
	PASSFOUR
	JNZ     group4
	VZEROUPPER
	RET

// func unpackInt4avx2(lo, hi, src *int8, n int)
// n is a positive multiple of 32.
TEXT ·unpackInt4avx2(SB), NOSPLIT, $0-32
	MOVQ         lo+0(FP), DI
	MOVQ         hi+8(FP), SI
	MOVQ         src+16(FP), R8
	MOVQ         n+24(FP), DX
	BYTES(0x0f0f0f0f, X15, Y15)
	BYTES(0x08080808, X14, Y14)
	XORQ         CX, CX

unpack4:
	VMOVDQU (R8)(CX*1), Y0
	VPAND   Y15, Y0, Y1
	VPSRLW  $4, Y0, Y0
	VPAND   Y15, Y0, Y0
	VPSUBB  Y14, Y1, Y1
	VPSUBB  Y14, Y0, Y0
	VMOVDQU Y1, (DI)(CX*1)
	VMOVDQU Y0, (SI)(CX*1)
	ADDQ    $32, CX
	CMPQ    CX, DX
	JLT     unpack4
	VZEROUPPER
	RET
