//go:build arm64 && !purego

#include "textflag.h"
#include "macros_arm64.h"

// Make scores of four sums.
#define SCORE(v, sums, factor, offset) \
	VADD v.S4, v.S4, v.S4     \
	VSUB V30.S4, v.S4, v.S4   \
	SCVTF4(sums, sums)        \
	FMUL4(31, sums, sums)     \
	FMUL4(factor, sums, sums) \
	FADD4(offset, sums, sums)

#define SCORES(va, vb, vc, vd, a, b, c, d) \
	VLD1.P 64(R3), [V0.S4, V1.S4, V2.S4, V3.S4] \
	VLD1.P 64(R4), [V4.S4, V5.S4, V6.S4, V7.S4] \
	SCORE(va, a, 0, 4)                          \
	SCORE(vb, b, 1, 5)                          \
	SCORE(vc, c, 2, 6)                          \
	SCORE(vd, d, 3, 7)                          \
	VST1.P [va.S4, vb.S4, vc.S4, vd.S4], 64(R0)

// func signScoresneon(dst *float32, codes, tables *byte, factors, offsets *float32, blocks, groups int, zero int32, scale float32)
// blocks and groups are positive. A byte has the codes of two lanes. Bytes from
// the tables are added in 16 bits in V0-V3, 256 of them at most, and those sums in
// 32 bits in V16-V23.
TEXT ·signScoresneon(SB), NOSPLIT, $0-64
	MOVD  dst+0(FP), R0
	MOVD  codes+8(FP), R1
	MOVD  factors+24(FP), R3
	MOVD  offsets+32(FP), R4
	MOVD  blocks+40(FP), R5
	MOVW  zero+56(FP), R7
	FMOVS scale+60(FP), F31
	VDUP  V31.S[0], V31.S4
	VDUP  R7, V30.S4
	VMOVI $15, V29.B16

block:
	MOVD tables+16(FP), R2
	MOVD groups+48(FP), R6
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16

run:
	MOVD R6, R8
	CMP  $256, R8
	BLE  few
	MOVD $256, R8

few:
	SUB  R8, R6, R6
	ZERO4

group:
	VLD1.P  16(R1), [V4.B16]
	VLD1.P  16(R2), [V5.B16]
	VUSHR   $4, V4.B16, V6.B16
	VAND    V29.B16, V4.B16, V4.B16
	VTBL    V4.B16, [V5.B16], V4.B16
	VTBL    V6.B16, [V5.B16], V6.B16
	VUADDW  V4.B8, V0.H8, V0.H8
	VUADDW2 V4.B16, V1.H8, V1.H8
	VUADDW  V6.B8, V2.H8, V2.H8
	VUADDW2 V6.B16, V3.H8, V3.H8
	SUBS    $1, R8, R8
	BNE     group

	VUXTL  V0.H4, V4.S4
	VUXTL2 V0.H8, V5.S4
	VADD   V4.S4, V16.S4, V16.S4
	VADD   V5.S4, V17.S4, V17.S4
	VUXTL  V1.H4, V4.S4
	VUXTL2 V1.H8, V5.S4
	VADD   V4.S4, V18.S4, V18.S4
	VADD   V5.S4, V19.S4, V19.S4
	VUXTL  V2.H4, V4.S4
	VUXTL2 V2.H8, V5.S4
	VADD   V4.S4, V20.S4, V20.S4
	VADD   V5.S4, V21.S4, V21.S4
	VUXTL  V3.H4, V4.S4
	VUXTL2 V3.H8, V5.S4
	VADD   V4.S4, V22.S4, V22.S4
	VADD   V5.S4, V23.S4, V23.S4
	CBNZ   R6, run

	SCORES(V16, V17, V18, V19, 16, 17, 18, 19)
	SCORES(V20, V21, V22, V23, 20, 21, 22, 23)
	SUBS $1, R5, R5
	BNE  block
	RET
