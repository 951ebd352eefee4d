//go:build arm64 && !purego

#include "textflag.h"
#include "macros_arm64.h"

// The sums of row i of a tile are V(2i) and V(2i+1); rows of B lie in V24 on.

#define ZERO16 \
	ZERO8 \
	VEOR V8.B16, V8.B16, V8.B16 \
	VEOR V9.B16, V9.B16, V9.B16 \
	VEOR V10.B16, V10.B16, V10.B16 \
	VEOR V11.B16, V11.B16, V11.B16 \
	VEOR V12.B16, V12.B16, V12.B16 \
	VEOR V13.B16, V13.B16, V13.B16 \
	VEOR V14.B16, V14.B16, V14.B16 \
	VEOR V15.B16, V15.B16, V15.B16

// A step along k of four rows, whose values of A are a lane of V16-V19 (V20-V23).
#define LANES4(lane, b0, b1) \
	FMLAE(16, lane, b0, 0) \
	FMLAE(16, lane, b1, 1) \
	FMLAE(17, lane, b0, 2) \
	FMLAE(17, lane, b1, 3) \
	FMLAE(18, lane, b0, 4) \
	FMLAE(18, lane, b1, 5) \
	FMLAE(19, lane, b0, 6) \
	FMLAE(19, lane, b1, 7)

#define LANES8(lane, b0, b1) \
	LANES4(lane, b0, b1) \
	FMLAE(20, lane, b0, 8) \
	FMLAE(20, lane, b1, 9) \
	FMLAE(21, lane, b0, 10) \
	FMLAE(21, lane, b1, 11) \
	FMLAE(22, lane, b0, 12) \
	FMLAE(22, lane, b1, 13) \
	FMLAE(23, lane, b0, 14) \
	FMLAE(23, lane, b1, 15)

// A row in a step along k, its value of A at p.
#define ROW(p, t, c0, c1) \
	VLD1R (p), [t.S4] \
	ADD   R10, p, p \
	VFMLA V24.S4, t.S4, c0.S4 \
	VFMLA V25.S4, t.S4, c1.S4

#define PUT(c0, c1) \
	VST1 [c0.S4, c1.S4], (R0) \
	ADD  R1, R0, R0

// Where the first four rows of A begin, R13 bytes apart, from R2 on.
#define BEGIN4 \
	ADD R13, R2, R3 \
	ADD R13, R3, R4 \
	ADD R13, R4, R5

// Four steps along k of B, and of the first four rows of A, which lie in one piece.
#define FOUR4 \
	VLD1.P 64(R11), [V24.S4, V25.S4, V26.S4, V27.S4] \
	VLD1.P 64(R11), [V28.S4, V29.S4, V30.S4, V31.S4] \
	VLD1.P 16(R2), [V16.S4] \
	VLD1.P 16(R3), [V17.S4] \
	VLD1.P 16(R4), [V18.S4] \
	VLD1.P 16(R5), [V19.S4]

// A step along k of the first four rows, however they lie.
#define SINGLE4 \
	VLD1.P 32(R11), [V24.S4, V25.S4] \
	ROW(R2, V16, V0, V1) \
	ROW(R3, V17, V2, V3) \
	ROW(R4, V18, V4, V5) \
	ROW(R5, V19, V6, V7)

#define PUT4 \
	PUT(V0, V1) \
	PUT(V2, V3) \
	PUT(V4, V5) \
	PUT(V6, V7)

#define ADDTO(c0, c1, n0, n1) \
	VLD1 (R0), [V24.S4, V25.S4] \
	FADD4(24, n0, n0) \
	FADD4(25, n1, n1) \
	PUT(c0, c1)

// func tile8x8neon(c *float32, ldc int, a *float32, rs, cs int, b *float32, k int, acc bool)
TEXT ·tile8x8neon(SB), NOSPLIT, $0-57
	MOVD c+0(FP), R0
	MOVD ldc+8(FP), R1
	MOVD a+16(FP), R2
	MOVD rs+24(FP), R13
	MOVD cs+32(FP), R10
	MOVD b+40(FP), R11
	MOVD k+48(FP), R12
	MOVBU acc+56(FP), R14
	LSL  $2, R1, R1
	LSL  $2, R13, R13
	LSL  $2, R10, R10
	ZERO16
	CMP  $4, R13
	BEQ  columns
	BEGIN4
	ADD  R13, R5, R6
	ADD  R13, R6, R7
	ADD  R13, R7, R8
	ADD  R13, R8, R9
	CMP  $4, R10
	BNE  single

	// Rows of A lie in one piece: four steps along k at a time.
	SUBS $4, R12, R12
	BLT  less
rows:
	FOUR4
	VLD1.P 16(R6), [V20.S4]
	VLD1.P 16(R7), [V21.S4]
	VLD1.P 16(R8), [V22.S4]
	VLD1.P 16(R9), [V23.S4]
	LANES8(0, 24, 25)
	LANES8(1, 26, 27)
	LANES8(2, 28, 29)
	LANES8(3, 30, 31)
	SUBS $4, R12, R12
	BGE  rows
less:
	ADDS $4, R12, R12
	BEQ  store

single:
	SINGLE4
	ROW(R6, V20, V8, V9)
	ROW(R7, V21, V10, V11)
	ROW(R8, V22, V12, V13)
	ROW(R9, V23, V14, V15)
	SUBS $1, R12, R12
	BNE  single
	B    store

	// Columns of A lie in one piece.
columns:
	VLD1.P 32(R11), [V24.S4, V25.S4]
	VLD1 (R2), [V16.S4, V17.S4]
	ADD  R10, R2, R2
	FMLAE(16, 0, 24, 0)
	FMLAE(16, 0, 25, 1)
	FMLAE(16, 1, 24, 2)
	FMLAE(16, 1, 25, 3)
	FMLAE(16, 2, 24, 4)
	FMLAE(16, 2, 25, 5)
	FMLAE(16, 3, 24, 6)
	FMLAE(16, 3, 25, 7)
	FMLAE(17, 0, 24, 8)
	FMLAE(17, 0, 25, 9)
	FMLAE(17, 1, 24, 10)
	FMLAE(17, 1, 25, 11)
	FMLAE(17, 2, 24, 12)
	FMLAE(17, 2, 25, 13)
	FMLAE(17, 3, 24, 14)
	FMLAE(17, 3, 25, 15)
	SUBS $1, R12, R12
	BNE  columns

store:
	CBNZ R14, add
	PUT4
	PUT(V8, V9)
	PUT(V10, V11)
	PUT(V12, V13)
	PUT(V14, V15)
	RET

add:
	ADDTO(V0, V1, 0, 1)
	ADDTO(V2, V3, 2, 3)
	ADDTO(V4, V5, 4, 5)
	ADDTO(V6, V7, 6, 7)
	ADDTO(V8, V9, 8, 9)
	ADDTO(V10, V11, 10, 11)
	ADDTO(V12, V13, 12, 13)
	ADDTO(V14, V15, 14, 15)
	RET

// func tile4x8neon(c *float32, a *float32, rs, cs int, b *float32, k int)
//
// The tile of C lies in one piece and is not added to.
TEXT ·tile4x8neon(SB), NOSPLIT, $0-48
	MOVD c+0(FP), R0
	MOVD a+8(FP), R2
	MOVD rs+16(FP), R13
	MOVD cs+24(FP), R10
	MOVD b+32(FP), R11
	MOVD k+40(FP), R12
	MOVD $32, R1
	LSL  $2, R13, R13
	LSL  $2, R10, R10
	ZERO8
	BEGIN4
	CMP  $4, R10
	BNE  single4
	SUBS $4, R12, R12
	BLT  less4
rows4:
	FOUR4
	LANES4(0, 24, 25)
	LANES4(1, 26, 27)
	LANES4(2, 28, 29)
	LANES4(3, 30, 31)
	SUBS $4, R12, R12
	BGE  rows4
less4:
	ADDS $4, R12, R12
	BEQ  store4
single4:
	SINGLE4
	SUBS $1, R12, R12
	BNE  single4
store4:
	PUT4
	RET
