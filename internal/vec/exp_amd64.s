//go:build amd64 && !purego

#include "textflag.h"
#include "exp_data.h"

// func expavx2(dst, x *float32, shift, f float32, n int) float64
//
// dst[i] = exp((x[i]-shift)·f) where that is at most 1, 0 below the least normal number;
// returns their sum. n is a positive multiple of 8.
TEXT ·expavx2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	VBROADCASTSS shift+16(FP), Y15
	VBROADCASTSS f+20(FP), Y6
	MOVQ n+24(FP), DX
	VBROADCASTSS expc<>+0(SB), Y14
	VBROADCASTSS expc<>+4(SB), Y13
	VBROADCASTSS expc<>+8(SB), Y12
	VBROADCASTSS expc<>+12(SB), Y11
	VBROADCASTSS expc<>+40(SB), Y10
	VXORPD Y8, Y8, Y8
	VXORPD Y9, Y9, Y9
	XORQ CX, CX

loop:
	VMOVUPS (SI)(CX*4), Y0
	VSUBPS  Y15, Y0, Y0
	VMULPS  Y6, Y0, Y0
	VCMPPS  $1, Y14, Y0, Y7 // x < least
	VMAXPS  Y0, Y14, Y0 // NaN stays
	VMULPS  Y13, Y0, Y1
	VROUNDPS $0, Y1, Y1
	VFNMADD231PS Y12, Y1, Y0
	VFNMADD231PS Y11, Y1, Y0 // r
	VMULPS  Y0, Y0, Y2 // r²
	VBROADCASTSS expc<>+16(SB), Y3
	VBROADCASTSS expc<>+20(SB), Y4
	VFMADD213PS Y4, Y0, Y3
	VBROADCASTSS expc<>+24(SB), Y4
	VFMADD213PS Y4, Y0, Y3
	VBROADCASTSS expc<>+28(SB), Y4
	VFMADD213PS Y4, Y0, Y3
	VBROADCASTSS expc<>+32(SB), Y4
	VFMADD213PS Y4, Y0, Y3
	VBROADCASTSS expc<>+36(SB), Y4
	VFMADD213PS Y4, Y0, Y3
	VFMADD213PS Y0, Y2, Y3
	VADDPS  Y10, Y3, Y3
	VCVTPS2DQ Y1, Y1
	VPSLLD  $23, Y1, Y1
	VPADDD  Y1, Y3, Y3 // times 2^round(x/ln 2)
	VANDNPS Y3, Y7, Y3
	VMOVUPS Y3, (DI)(CX*4)
	VCVTPS2PD X3, Y4
	VEXTRACTF128 $1, Y3, X3
	VCVTPS2PD X3, Y5
	VADDPD  Y4, Y8, Y8
	VADDPD  Y5, Y9, Y9
	ADDQ $8, CX
	CMPQ CX, DX
	JLT  loop

	VADDPD Y9, Y8, Y8
	VEXTRACTF128 $1, Y8, X9
	VADDPD X9, X8, X8
	VHADDPD X8, X8, X8
	VMOVSD X8, ret+32(FP)
	VZEROUPPER
	RET
