//go:build amd64 && !purego

#include "textflag.h"

// Constants of expavx2. exp(r) on |r| ≤ ln(2)/2 is the polynomial of the Cephes
// library (Moshier), good to 2 units in the last place.
DATA expc<>+0(SB)/4, $0xc2aeac50 // -87.33655, ln of the least normal number
DATA expc<>+4(SB)/4, $0x3fb8aa3b // 1/ln(2)
DATA expc<>+8(SB)/4, $0x3f318000 // ln(2), upper bits
DATA expc<>+12(SB)/4, $0xb95e8083 // ln(2), the rest
DATA expc<>+16(SB)/4, $0x39506967 // 1.9875691e-4
DATA expc<>+20(SB)/4, $0x3ab743ce // 1.3981999e-3
DATA expc<>+24(SB)/4, $0x3c088908 // 8.3334519e-3
DATA expc<>+28(SB)/4, $0x3d2aa9c1 // 4.1665796e-2
DATA expc<>+32(SB)/4, $0x3e2aaaaa // 1.6666665e-1
DATA expc<>+36(SB)/4, $0x3f000000 // 0.5
DATA expc<>+40(SB)/4, $0x3f800000 // 1
GLOBL expc<>(SB), RODATA|NOPTR, $44

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
