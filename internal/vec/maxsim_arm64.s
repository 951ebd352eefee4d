//go:build arm64 && !purego

#include "textflag.h"
#include "macros_arm64.h"

// The kernels take tokens of the query against the 16 codes of a block. A lane has one
// code; of a group it has the four components, which a product adds up. V8 flips the upper
// bits of codes of 8 bits, V9-V12 are the scales.
#define QUERY \
	MOVD  best+0(FP), R0                            \
	MOVD  q+8(FP), R8                               \
	MOVD  sums+16(FP), R2                           \
	MOVD  block+24(FP), R3                          \
	MOVD  scales+32(FP), R12                        \
	MOVD  quads+40(FP), R4                          \
	MOVD  groups+48(FP), R5                         \
	MOVD  flip+56(FP), R6                           \
	MOVW  zero+64(FP), R7                           \
	FMOVS unit+68(FP), F13                          \
	VDUP  R6, V8.B16                                \
	VDUP  V13.S[0], V13.S4                          \
	VLD1  (R12), [V0.H8, V1.H8]                     \
	VUXTL V0.H4, V9.S4                              \
	VUXTL2 V0.H8, V10.S4                            \
	VUXTL V1.H4, V11.S4                             \
	VUXTL2 V1.H8, V12.S4                            \
	SCVTF4(9, 9)                                    \
	SCVTF4(10, 10)                                  \
	SCVTF4(11, 11)                                  \
	SCVTF4(12, 12)                                  \
	FMUL4(13, 9, 9)                                 \
	FMUL4(13, 10, 10)                               \
	FMUL4(13, 11, 11)                               \
	FMUL4(13, 12, 12)

#define CODES \
	VLD1.P 64(R9), [V4.B16, V5.B16, V6.B16, V7.B16] \
	VEOR   V8.B16, V4.B16, V4.B16                   \
	VEOR   V8.B16, V5.B16, V5.B16                   \
	VEOR   V8.B16, V6.B16, V6.B16                   \
	VEOR   V8.B16, V7.B16, V7.B16

// Make floats of the sums of products of the next token and raise best to them.
#define RAISE(va, vb, vc, vd, a, b, c, d) \
	MOVW.P 4(R2), R13                              \
	MULW   R7, R13, R13                            \
	VDUP   R13, V14.S4                             \
	VADD   va.S4, va.S4, va.S4                     \
	VADD   vb.S4, vb.S4, vb.S4                     \
	VADD   vc.S4, vc.S4, vc.S4                     \
	VADD   vd.S4, vd.S4, vd.S4                     \
	VADD   V14.S4, va.S4, va.S4                    \
	VADD   V14.S4, vb.S4, vb.S4                    \
	VADD   V14.S4, vc.S4, vc.S4                    \
	VADD   V14.S4, vd.S4, vd.S4                    \
	VLD1   (R0), [V0.S4, V1.S4, V2.S4, V3.S4]      \
	SCVTF4(a, a)                                   \
	SCVTF4(b, b)                                   \
	SCVTF4(c, c)                                   \
	SCVTF4(d, d)                                   \
	FMUL4(9, a, a)                                 \
	FMUL4(10, b, b)                                \
	FMUL4(11, c, c)                                \
	FMUL4(12, d, d)                                \
	FMAX4(a, 0, 0)                                 \
	FMAX4(b, 1, 1)                                 \
	FMAX4(c, 2, 2)                                 \
	FMAX4(d, 3, 3)                                 \
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)

// func maxSimsdot(best *float32, q *int8, sums *int32, block, scales *byte, quads, groups int, flip uint64, zero int32, unit float32)
// quads and groups are positive.
TEXT ·maxSimsdot(SB), NOSPLIT, $0-72
	QUERY

quad:
	LSL   $2, R5, R13
	ADD   R13, R8, R14
	ADD   R13, R14, R15
	ADD   R13, R15, R16
	VEOR  V16.B16, V16.B16, V16.B16
	VEOR  V17.B16, V17.B16, V17.B16
	VEOR  V18.B16, V18.B16, V18.B16
	VEOR  V19.B16, V19.B16, V19.B16
	VEOR  V20.B16, V20.B16, V20.B16
	VEOR  V21.B16, V21.B16, V21.B16
	VEOR  V22.B16, V22.B16, V22.B16
	VEOR  V23.B16, V23.B16, V23.B16
	VEOR  V24.B16, V24.B16, V24.B16
	VEOR  V25.B16, V25.B16, V25.B16
	VEOR  V26.B16, V26.B16, V26.B16
	VEOR  V27.B16, V27.B16, V27.B16
	VEOR  V28.B16, V28.B16, V28.B16
	VEOR  V29.B16, V29.B16, V29.B16
	VEOR  V30.B16, V30.B16, V30.B16
	VEOR  V31.B16, V31.B16, V31.B16
	MOVD  R3, R9
	MOVD  R5, R10

sdot:
	CODES
	VLD1R.P 4(R8), [V0.S4]
	VLD1R.P 4(R14), [V1.S4]
	VLD1R.P 4(R15), [V2.S4]
	VLD1R.P 4(R16), [V3.S4]
	SDOT(0, 4, 16)
	SDOT(0, 5, 17)
	SDOT(0, 6, 18)
	SDOT(0, 7, 19)
	SDOT(1, 4, 20)
	SDOT(1, 5, 21)
	SDOT(1, 6, 22)
	SDOT(1, 7, 23)
	SDOT(2, 4, 24)
	SDOT(2, 5, 25)
	SDOT(2, 6, 26)
	SDOT(2, 7, 27)
	SDOT(3, 4, 28)
	SDOT(3, 5, 29)
	SDOT(3, 6, 30)
	SDOT(3, 7, 31)
	SUBS  $1, R10, R10
	BNE   sdot
	RAISE(V16, V17, V18, V19, 16, 17, 18, 19)
	RAISE(V20, V21, V22, V23, 20, 21, 22, 23)
	RAISE(V24, V25, V26, V27, 24, 25, 26, 27)
	RAISE(V28, V29, V30, V31, 28, 29, 30, 31)
	MOVD  R16, R8
	SUBS  $1, R4, R4
	BNE   quad
	RET

// Products of a code register with the token's group, pairs of them added to lo and hi.
#define PRODUCTS(codes, lo, hi) \
	SMULL(0, codes, 24)  \
	SMULL2(0, codes, 25) \
	SADALP(24, lo)       \
	SADALP(25, hi)

// func maxSimneon(best *float32, q *int8, sums *int32, block, scales *byte, quads, groups int, flip uint64, zero int32, unit float32)
// quads and groups are positive. It takes one token at a time.
TEXT ·maxSimneon(SB), NOSPLIT, $0-72
	QUERY
	LSL $2, R4, R4

token:
	VEOR  V16.B16, V16.B16, V16.B16
	VEOR  V17.B16, V17.B16, V17.B16
	VEOR  V18.B16, V18.B16, V18.B16
	VEOR  V19.B16, V19.B16, V19.B16
	VEOR  V20.B16, V20.B16, V20.B16
	VEOR  V21.B16, V21.B16, V21.B16
	VEOR  V22.B16, V22.B16, V22.B16
	VEOR  V23.B16, V23.B16, V23.B16
	MOVD  R3, R9
	MOVD  R5, R10

smull:
	CODES
	VLD1R.P 4(R8), [V0.S4]
	PRODUCTS(4, 16, 17)
	PRODUCTS(5, 18, 19)
	PRODUCTS(6, 20, 21)
	PRODUCTS(7, 22, 23)
	SUBS  $1, R10, R10
	BNE   smull
	ADDP4(17, 16, 16)
	ADDP4(19, 18, 17)
	ADDP4(21, 20, 18)
	ADDP4(23, 22, 19)
	RAISE(V16, V17, V18, V19, 16, 17, 18, 19)
	SUBS  $1, R4, R4
	BNE   token
	RET
