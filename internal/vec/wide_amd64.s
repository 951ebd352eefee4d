//go:build amd64 && !purego

#include "textflag.h"

// func axpyWideavx2(y *float64, f float64, x *float32, n int)
//
// n is a positive multiple of 16.
TEXT ·axpyWideavx2(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	VBROADCASTSD f+8(FP), Y0
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), DX
	XORQ CX, CX

loopw:
	VCVTPS2PD (SI)(CX*4), Y1
	VCVTPS2PD 16(SI)(CX*4), Y2
	VCVTPS2PD 32(SI)(CX*4), Y3
	VCVTPS2PD 48(SI)(CX*4), Y4
	VFMADD213PD (DI)(CX*8), Y0, Y1
	VFMADD213PD 32(DI)(CX*8), Y0, Y2
	VFMADD213PD 64(DI)(CX*8), Y0, Y3
	VFMADD213PD 96(DI)(CX*8), Y0, Y4
	VMOVUPD Y1, (DI)(CX*8)
	VMOVUPD Y2, 32(DI)(CX*8)
	VMOVUPD Y3, 64(DI)(CX*8)
	VMOVUPD Y4, 96(DI)(CX*8)
	ADDQ $16, CX
	CMPQ CX, DX
	JLT  loopw
	VZEROUPPER
	RET

// func narrowavx2(dst *float32, x *float64, n int)
//
// n is a positive multiple of 8.
TEXT ·narrowavx2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), DX
	XORQ CX, CX

loopn:
	VCVTPD2PSY (SI)(CX*8), X1
	VCVTPD2PSY 32(SI)(CX*8), X2
	VMOVUPS X1, (DI)(CX*4)
	VMOVUPS X2, 16(DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, DX
	JLT  loopn
	VZEROUPPER
	RET

#define ROWWIDE(a, c0, c1)    \
	VBROADCASTSD a, Y2        \
	VFNMADD231PD Y0, Y2, c0   \
	VFNMADD231PD Y1, Y2, c1

#define ADDWIDE(c0, c1)     \
	VADDPD  (DI), c0, c0   \
	VADDPD  32(DI), c1, c1 \
	VMOVUPD c0, (DI)       \
	VMOVUPD c1, 32(DI)     \
	ADDQ    SI, DI

// func subTileavx2(c *float64, ldc int, a *float64, lda int, b *float64, k int)
//
// Eight chains of sums hide the latency of two multipliers.
TEXT ·subTileavx2(SB), NOSPLIT, $0-48
	MOVQ c+0(FP), DI
	MOVQ ldc+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ lda+24(FP), R9
	MOVQ b+32(FP), DX
	MOVQ k+40(FP), CX
	SHLQ $3, SI
	SHLQ $3, R9
	LEAQ (R9)(R9*2), R10

	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	VXORPD Y8, Y8, Y8
	VXORPD Y9, Y9, Y9
	VXORPD Y10, Y10, Y10
	VXORPD Y11, Y11, Y11

loopt:
	VMOVUPD (DX), Y0
	VMOVUPD 32(DX), Y1
	ROWWIDE((R8), Y4, Y5)
	ROWWIDE((R8)(R9*1), Y6, Y7)
	ROWWIDE((R8)(R9*2), Y8, Y9)
	ROWWIDE((R8)(R10*1), Y10, Y11)
	ADDQ $64, DX
	ADDQ $8, R8
	DECQ CX
	JNZ  loopt

	ADDWIDE(Y4, Y5)
	ADDWIDE(Y6, Y7)
	ADDWIDE(Y8, Y9)
	ADDWIDE(Y10, Y11)
	VZEROUPPER
	RET
