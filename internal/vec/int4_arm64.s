//go:build arm64 && !purego

#include "textflag.h"
#include "macros_arm64.h"

#define PARAMS \
	MOVD out+0(FP), R0 \
	MOVD lo+8(FP), R1  \
	MOVD hi+16(FP), R2 \
	MOVD a+24(FP), R3  \
	MOVD b+32(FP), R4  \
	MOVD c+40(FP), R5  \
	MOVD d+48(FP), R6  \
	MOVD n+56(FP), R7

// Sum the integer lanes of V0-V3 into out[0:4].
#define SUMINT \
	ADDP4(1, 0, 0)        \
	ADDP4(3, 2, 2)        \
	ADDP4(2, 0, 0)        \
	VST1   [V0.S4], (R0)

// V30 has 15 in each byte, V31 8.
#define HALVES \
	VMOVI $15, V30.B16 \
	VMOVI $8, V31.B16

// The codes of 16 bytes at p in V18, of their lower halves, and V19.
#define CODES(p) \
	VLD1.P 16(p), [V18.B16]           \
	VUSHR  $4, V18.B16, V19.B16       \
	VAND   V30.B16, V18.B16, V18.B16  \
	VSUB   V31.B16, V18.B16, V18.B16  \
	VSUB   V31.B16, V19.B16, V19.B16

#define QUERY \
	VLD1.P 16(R1), [V16.B16] \
	VLD1.P 16(R2), [V17.B16]

// func dotInt4x4sdot(out *[4]int32, lo, hi, a, b, c, d *int8, n int)
// n is a positive multiple of 16.
TEXT ·dotInt4x4sdot(SB), NOSPLIT, $0-64
	PARAMS
	ZERO4
	HALVES

sdot:
	QUERY
	CODES(R3)
	SDOT(16, 18, 0)
	SDOT(17, 19, 0)
	CODES(R4)
	SDOT(16, 18, 1)
	SDOT(17, 19, 1)
	CODES(R5)
	SDOT(16, 18, 2)
	SDOT(17, 19, 2)
	CODES(R6)
	SDOT(16, 18, 3)
	SDOT(17, 19, 3)
	SUBS $16, R7, R7
	BNE  sdot
	SUMINT
	RET

// The same in products of 16 bits, pairs of which are added into 32.
#define PRODUCTS(sum) \
	SMULL(16, 18, 20)  \
	SMULL2(16, 18, 21) \
	SMULL(17, 19, 22)  \
	SMULL2(17, 19, 23) \
	SADALP(20, sum)    \
	SADALP(21, sum)    \
	SADALP(22, sum)    \
	SADALP(23, sum)

// func dotInt4x4neon(out *[4]int32, lo, hi, a, b, c, d *int8, n int)
// n is a positive multiple of 16.
TEXT ·dotInt4x4neon(SB), NOSPLIT, $0-64
	PARAMS
	ZERO4
	HALVES

smull:
	QUERY
	CODES(R3)
	PRODUCTS(0)
	CODES(R4)
	PRODUCTS(1)
	CODES(R5)
	PRODUCTS(2)
	CODES(R6)
	PRODUCTS(3)
	SUBS $16, R7, R7
	BNE  smull
	SUMINT
	RET
