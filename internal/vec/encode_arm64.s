//go:build arm64 && !purego

#include "textflag.h"
#include "exp_data.h"
#include "macros_arm64.h"

// func axpyneon(y *float32, f float32, x *float32, n int)
// n is a positive multiple of 8.
TEXT ·axpyneon(SB), NOSPLIT, $0-32
	MOVD  y+0(FP), R0
	MOVD  $f+8(FP), R3
	VLD1R (R3), [V4.S4]
	MOVD  x+16(FP), R1
	MOVD  n+24(FP), R2

axpy:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	VLD1   (R0), [V2.S4, V3.S4]
	VFMLA  V4.S4, V0.S4, V2.S4
	VFMLA  V4.S4, V1.S4, V3.S4
	VST1.P [V2.S4, V3.S4], 32(R0)
	SUBS   $8, R2, R2
	BNE    axpy
	RET

// p = r·p + c, with t as room
#define NEXT(c, r, p, t) \
	VMOV  c.B16, t.B16 \
	VFMLA r.S4, p.S4, t.S4

// func expneon(dst, x *float32, shift, f float32, n int) float64
//
// dst[i] = exp((x[i]-shift)·f) where that is at most 1, 0 below the least normal number;
// returns their sum. n is a positive multiple of 4.
TEXT ·expneon(SB), NOSPLIT, $0-40
	MOVD  dst+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  $shift+16(FP), R3
	VLD1R (R3), [V31.S4]
	MOVD  $f+20(FP), R3
	VLD1R (R3), [V30.S4]
	MOVD  n+24(FP), R2
	MOVD  $expc<>(SB), R3
	VLD1R.P 4(R3), [V29.S4]
	VLD1R.P 4(R3), [V28.S4]
	VLD1R.P 4(R3), [V27.S4]
	VLD1R.P 4(R3), [V26.S4]
	VLD1R.P 4(R3), [V25.S4]
	VLD1R.P 4(R3), [V24.S4]
	VLD1R.P 4(R3), [V23.S4]
	VLD1R.P 4(R3), [V22.S4]
	VLD1R.P 4(R3), [V21.S4]
	VLD1R.P 4(R3), [V20.S4]
	VLD1R.P 4(R3), [V19.S4]
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16

exp:
	VLD1.P 16(R1), [V0.S4]
	FSUB4(31, 0, 0)
	FMUL4(30, 0, 0)
	FCMGT4(0, 29, 7)              // x < least
	FMAX4(29, 0, 0)               // NaN stays
	FMUL4(28, 0, 1)
	FRINTN4(1, 1)
	VFMLS V27.S4, V1.S4, V0.S4
	VFMLS V26.S4, V1.S4, V0.S4    // r
	FMUL4(0, 0, 2)                // r²
	VMOV  V25.B16, V3.B16
	NEXT(V24, V0, V3, V4)
	NEXT(V23, V0, V4, V3)
	NEXT(V22, V0, V3, V4)
	NEXT(V21, V0, V4, V3)
	NEXT(V20, V0, V3, V4)
	VFMLA V2.S4, V4.S4, V0.S4
	FADD4(19, 0, 0)
	FCVTNS4(1, 1)
	VSHL  $23, V1.S4, V1.S4
	VADD  V1.S4, V0.S4, V0.S4     // times 2^round(x/ln 2)
	BIC16(7, 0, 0)
	VST1.P [V0.S4], 16(R0)
	FCVTL(0, 4)
	FCVTL2(0, 5)
	FADD2(4, 16, 16)
	FADD2(5, 17, 17)
	SUBS  $4, R2, R2
	BNE   exp

	FADD2(17, 16, 16)
	FADDP2(16, 0)
	FMOVD F0, ret+32(FP)
	RET

// One step of the polynomial of gelu for two vectors.
#define GELUSTEP(c, from0, from1, to0, to1) \
	VMOV  c.B16, to0.B16 \
	VMOV  c.B16, to1.B16 \
	VFMLA V4.S4, from0.S4, to0.S4 \
	VFMLA V5.S4, from1.S4, to1.S4

// func addGELUneon(c, bias, consts *float32, n int)
//
// c[i] = gelu(c[i]+bias[i]); consts are geluPoly, highest power first, then the limit,
// 1/16, 1 and ½. n is a positive multiple of 8.
TEXT ·addGELUneon(SB), NOSPLIT, $0-32
	MOVD c+0(FP), R0
	MOVD bias+8(FP), R1
	MOVD consts+16(FP), R3
	MOVD n+24(FP), R2
	VLD1R.P 4(R3), [V31.S4]
	VLD1R.P 4(R3), [V30.S4]
	VLD1R.P 4(R3), [V29.S4]
	VLD1R.P 4(R3), [V28.S4]
	VLD1R.P 4(R3), [V27.S4]
	VLD1R.P 4(R3), [V26.S4]
	VLD1R.P 4(R3), [V25.S4]
	VLD1R.P 4(R3), [V24.S4]
	VLD1R.P 4(R3), [V23.S4]
	VLD1R.P 4(R3), [V22.S4]
	VLD1R.P 4(R3), [V21.S4]
	VLD1R.P 4(R3), [V20.S4]
	VLD1R.P 4(R3), [V19.S4]
	VLD1R.P 4(R3), [V18.S4]
	VLD1R.P 4(R3), [V17.S4]
	VLD1R.P 4(R3), [V16.S4]
	VLD1R.P 4(R3), [V15.S4] // limit
	VLD1R.P 4(R3), [V14.S4] // 1/16
	VLD1R.P 4(R3), [V13.S4] // 1
	VLD1R.P 4(R3), [V12.S4] // ½
	VEOR V11.B16, V11.B16, V11.B16
	FSUB4(15, 11, 11)       // -limit

gelu:
	VLD1 (R0), [V0.S4, V1.S4]
	VLD1.P 32(R1), [V2.S4, V3.S4]
	FADD4(2, 0, 0)
	FADD4(3, 1, 1)
	FMAX4(11, 0, 2)
	FMAX4(11, 1, 3)
	FMIN4(15, 2, 2)         // t
	FMIN4(15, 3, 3)
	FMUL4(2, 2, 4)
	FMUL4(3, 3, 5)
	FMUL4(14, 4, 4)
	FMUL4(14, 5, 5)
	FSUB4(13, 4, 4)         // u = t²/16 - 1
	FSUB4(13, 5, 5)
	VMOV V31.B16, V6.B16
	VMOV V31.B16, V7.B16
	GELUSTEP(V30, V6, V7, V8, V9)
	GELUSTEP(V29, V8, V9, V6, V7)
	GELUSTEP(V28, V6, V7, V8, V9)
	GELUSTEP(V27, V8, V9, V6, V7)
	GELUSTEP(V26, V6, V7, V8, V9)
	GELUSTEP(V25, V8, V9, V6, V7)
	GELUSTEP(V24, V6, V7, V8, V9)
	GELUSTEP(V23, V8, V9, V6, V7)
	GELUSTEP(V22, V6, V7, V8, V9)
	GELUSTEP(V21, V8, V9, V6, V7)
	GELUSTEP(V20, V6, V7, V8, V9)
	GELUSTEP(V19, V8, V9, V6, V7)
	GELUSTEP(V18, V6, V7, V8, V9)
	GELUSTEP(V17, V8, V9, V6, V7)
	GELUSTEP(V16, V6, V7, V8, V9)
	VMOV V12.B16, V6.B16
	VMOV V12.B16, V7.B16
	VFMLA V2.S4, V8.S4, V6.S4 // ½ + t·p
	VFMLA V3.S4, V9.S4, V7.S4
	FMUL4(6, 0, 0)
	FMUL4(7, 1, 1)
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS $8, R2, R2
	BNE  gelu
	RET
