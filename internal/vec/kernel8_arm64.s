//go:build arm64 && !purego

#include "textflag.h"
#include "macros_arm64.h"

// The codes of sixteen columns in V4-V7 times group i of each row in V0-V3.
#define QUAD(i) \
	VLD1.P 64(R3), [V4.B16, V5.B16, V6.B16, V7.B16] \
	SDOTL(i, 0, 4, 16) \
	SDOTL(i, 0, 5, 17) \
	SDOTL(i, 0, 6, 18) \
	SDOTL(i, 0, 7, 19) \
	SDOTL(i, 1, 4, 20) \
	SDOTL(i, 1, 5, 21) \
	SDOTL(i, 1, 6, 22) \
	SDOTL(i, 1, 7, 23) \
	SDOTL(i, 2, 4, 24) \
	SDOTL(i, 2, 5, 25) \
	SDOTL(i, 2, 6, 26) \
	SDOTL(i, 2, 7, 27) \
	SDOTL(i, 3, 4, 28) \
	SDOTL(i, 3, 5, 29) \
	SDOTL(i, 3, 6, 30) \
	SDOTL(i, 3, 7, 31)

// SDOT multiplies signed bytes: 128 is taken off the codes of A by flipping
// their upper bits.
#define SIGNED \
	VEOR V8.B16, V0.B16, V0.B16 \
	VEOR V8.B16, V1.B16, V1.B16 \
	VEOR V8.B16, V2.B16, V2.B16 \
	VEOR V8.B16, V3.B16, V3.B16

#define ROWOUT(c0, c1, c2, c3) \
	VLD1R.P 4(R6), [V0.S4] \
	VLD1R.P 4(R6), [V1.S4] \
	SCVTF4(c0, c0)         \
	SCVTF4(c1, c1)         \
	SCVTF4(c2, c2)         \
	SCVTF4(c3, c3)         \
	FMLS4(9, 1, c0)        \
	FMLS4(10, 1, c1)       \
	FMLS4(11, 1, c2)       \
	FMLS4(12, 1, c3)       \
	FMUL4(0, c0, c0)       \
	FMUL4(0, c1, c1)       \
	FMUL4(0, c2, c2)       \
	FMUL4(0, c3, c3)       \
	FMUL4(4, c0, c0)       \
	FMUL4(5, c1, c1)       \
	FMUL4(6, c2, c2)       \
	FMUL4(7, c3, c3)

// Add the row of C at R12.
#define ADDC(c0, c1, c2, c3) \
	VLD1 (R12), [V0.S4, V1.S4, V2.S4, V3.S4] \
	FADD4(0, c0, c0) \
	FADD4(1, c1, c1) \
	FADD4(2, c2, c2) \
	FADD4(3, c3, c3) \
	ADD R1, R12

// func tile4x16sdot(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)
//
// Sums begin with 128 times the sums of the columns' codes, which is what is
// taken off the codes of A.
TEXT ·tile4x16sdot(SB), NOSPLIT, $0-65
	MOVD c+0(FP), R0
	MOVD ldc+8(FP), R1
	MOVD a+16(FP), R8
	MOVD lda+24(FP), R2
	MOVD b+32(FP), R3
	MOVD quads+40(FP), R4
	MOVD row+48(FP), R6
	MOVD col+56(FP), R7
	LSL  $2, R1
	ADD  R2, R8, R9
	ADD  R2, R9, R10
	ADD  R2, R10, R11
	VMOVI $128, V8.B16
	ADD  $64, R7, R12
	VLD1 (R12), [V9.S4, V10.S4, V11.S4, V12.S4]
	FCVTZS4(9, 16)
	FCVTZS4(10, 17)
	FCVTZS4(11, 18)
	FCVTZS4(12, 19)
	VSHL $7, V16.S4, V16.S4
	VSHL $7, V17.S4, V17.S4
	VSHL $7, V18.S4, V18.S4
	VSHL $7, V19.S4, V19.S4
	VORR V16.B16, V16.B16, V20.B16
	VORR V17.B16, V17.B16, V21.B16
	VORR V18.B16, V18.B16, V22.B16
	VORR V19.B16, V19.B16, V23.B16
	VORR V16.B16, V16.B16, V24.B16
	VORR V17.B16, V17.B16, V25.B16
	VORR V18.B16, V18.B16, V26.B16
	VORR V19.B16, V19.B16, V27.B16
	VORR V16.B16, V16.B16, V28.B16
	VORR V17.B16, V17.B16, V29.B16
	VORR V18.B16, V18.B16, V30.B16
	VORR V19.B16, V19.B16, V31.B16

four:
	SUBS $4, R4
	BLT  rest
	FMOVQ.P 16(R8), F0
	FMOVQ.P 16(R9), F1
	FMOVQ.P 16(R10), F2
	FMOVQ.P 16(R11), F3
	SIGNED
	QUAD(0)
	QUAD(1)
	QUAD(2)
	QUAD(3)
	B    four

rest:
	ADDS $4, R4
	BEQ  out

one:
	FMOVS.P 4(R8), F0
	FMOVS.P 4(R9), F1
	FMOVS.P 4(R10), F2
	FMOVS.P 4(R11), F3
	SIGNED
	QUAD(0)
	SUBS $1, R4
	BNE  one

out:
	VLD1 (R7), [V4.S4, V5.S4, V6.S4, V7.S4]
	MOVBU acc+64(FP), R5
	ROWOUT(16, 17, 18, 19)
	ROWOUT(20, 21, 22, 23)
	ROWOUT(24, 25, 26, 27)
	ROWOUT(28, 29, 30, 31)
	CBZ  R5, store
	MOVD R0, R12
	ADDC(16, 17, 18, 19)
	ADDC(20, 21, 22, 23)
	ADDC(24, 25, 26, 27)
	ADDC(28, 29, 30, 31)

store:
	VST1 [V16.S4, V17.S4, V18.S4, V19.S4], (R0)
	ADD  R1, R0
	VST1 [V20.S4, V21.S4, V22.S4, V23.S4], (R0)
	ADD  R1, R0
	VST1 [V24.S4, V25.S4, V26.S4, V27.S4], (R0)
	ADD  R1, R0
	VST1 [V28.S4, V29.S4, V30.S4, V31.S4], (R0)
	RET
