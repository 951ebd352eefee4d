//go:build arm64 && !purego

#include "textflag.h"
#include "macros_arm64.h"

// The kernels below take one query and four rows, so that each load of the
// query serves four sums. Every row is summed in the same order, whichever of
// the four places it has.

#define PARAMS \
	MOVD out+0(FP), R0 \
	MOVD q+8(FP), R1   \
	MOVD a+16(FP), R2  \
	MOVD b+24(FP), R3  \
	MOVD c+32(FP), R4  \
	MOVD d+40(FP), R5  \
	MOVD n+48(FP), R6

// Sum the lanes of V0-V3 (with V4-V7 added) into out[0:4].
#define SUM8 \
	FADD4(4, 0, 0)          \
	FADD4(5, 1, 1)          \
	FADD4(6, 2, 2)          \
	FADD4(7, 3, 3)          \
	FADDP4(1, 0, 0)         \
	FADDP4(3, 2, 2)         \
	FADDP4(2, 0, 0)         \
	VST1    [V0.S4], (R0)

// func dot4neon(out *[4]float32, q, a, b, c, d *float32, n int)
// n is a positive multiple of 8.
TEXT ·dot4neon(SB), NOSPLIT, $0-56
	PARAMS
	ZERO8

dot:
	VLD1.P 32(R1), [V16.S4, V17.S4]
	VLD1.P 32(R2), [V18.S4, V19.S4]
	VLD1.P 32(R3), [V20.S4, V21.S4]
	VLD1.P 32(R4), [V22.S4, V23.S4]
	VLD1.P 32(R5), [V24.S4, V25.S4]
	VFMLA  V16.S4, V18.S4, V0.S4
	VFMLA  V16.S4, V20.S4, V1.S4
	VFMLA  V16.S4, V22.S4, V2.S4
	VFMLA  V16.S4, V24.S4, V3.S4
	VFMLA  V17.S4, V19.S4, V4.S4
	VFMLA  V17.S4, V21.S4, V5.S4
	VFMLA  V17.S4, V23.S4, V6.S4
	VFMLA  V17.S4, V25.S4, V7.S4
	SUBS   $8, R6, R6
	BNE    dot
	SUM8
	RET

// func l2x4neon(out *[4]float32, q, a, b, c, d *float32, n int)
// n is a positive multiple of 8.
TEXT ·l2x4neon(SB), NOSPLIT, $0-56
	PARAMS
	ZERO8

l2:
	VLD1.P 32(R1), [V16.S4, V17.S4]
	VLD1.P 32(R2), [V18.S4, V19.S4]
	VLD1.P 32(R3), [V20.S4, V21.S4]
	VLD1.P 32(R4), [V22.S4, V23.S4]
	VLD1.P 32(R5), [V24.S4, V25.S4]
	FSUB4(18, 16, 18)
	FSUB4(20, 16, 20)
	FSUB4(22, 16, 22)
	FSUB4(24, 16, 24)
	FSUB4(19, 17, 19)
	FSUB4(21, 17, 21)
	FSUB4(23, 17, 23)
	FSUB4(25, 17, 25)
	VFMLA  V18.S4, V18.S4, V0.S4
	VFMLA  V20.S4, V20.S4, V1.S4
	VFMLA  V22.S4, V22.S4, V2.S4
	VFMLA  V24.S4, V24.S4, V3.S4
	VFMLA  V19.S4, V19.S4, V4.S4
	VFMLA  V21.S4, V21.S4, V5.S4
	VFMLA  V23.S4, V23.S4, V6.S4
	VFMLA  V25.S4, V25.S4, V7.S4
	SUBS   $8, R6, R6
	BNE    l2
	SUM8
	RET

// Sum the integer lanes of V0-V3 into out[0:4].
#define SUMINT \
	ADDP4(1, 0, 0)        \
	ADDP4(3, 2, 2)        \
	ADDP4(2, 0, 0)        \
	VST1   [V0.S4], (R0)

#define LOADINT \
	VLD1.P 16(R1), [V16.B16] \
	VLD1.P 16(R2), [V18.B16] \
	VLD1.P 16(R3), [V19.B16] \
	VLD1.P 16(R4), [V20.B16] \
	VLD1.P 16(R5), [V21.B16]

// func dotInt8x4sdot(out *[4]int32, q, a, b, c, d *int8, n int)
// n is a positive multiple of 16.
TEXT ·dotInt8x4sdot(SB), NOSPLIT, $0-56
	PARAMS
	ZERO4

sdot:
	LOADINT
	SDOT(16, 18, 0)
	SDOT(16, 19, 1)
	SDOT(16, 20, 2)
	SDOT(16, 21, 3)
	SUBS $16, R6, R6
	BNE  sdot
	SUMINT
	RET

// func dotInt8x4neon(out *[4]int32, q, a, b, c, d *int8, n int)
// n is a positive multiple of 16. A product of two bytes fits 16 bits; pairs
// of products are added into 32.
TEXT ·dotInt8x4neon(SB), NOSPLIT, $0-56
	PARAMS
	ZERO4

smull:
	LOADINT
	SMULL(16, 18, 22)
	SMULL(16, 19, 23)
	SMULL(16, 20, 24)
	SMULL(16, 21, 25)
	SMULL2(16, 18, 26)
	SMULL2(16, 19, 27)
	SMULL2(16, 20, 28)
	SMULL2(16, 21, 29)
	SADALP(22, 0)
	SADALP(23, 1)
	SADALP(24, 2)
	SADALP(25, 3)
	SADALP(26, 0)
	SADALP(27, 1)
	SADALP(28, 2)
	SADALP(29, 3)
	SUBS $16, R6, R6
	BNE  smull
	SUMINT
	RET
