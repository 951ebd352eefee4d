//go:build amd64 && !purego

#include "textflag.h"

// geluPoly, lowest power first, then the limit, its negative, 1/16, -1 and 1/2.
DATA geluc<>+0(SB)/4, $0x3dfffbd8
DATA geluc<>+4(SB)/4, $0xbd7fb5a9
DATA geluc<>+8(SB)/4, $0x3d3eb06c
DATA geluc<>+12(SB)/4, $0xbd1bfc51
DATA geluc<>+16(SB)/4, $0x3d0291f5
DATA geluc<>+20(SB)/4, $0xbcd85175
DATA geluc<>+24(SB)/4, $0x3cae7ebf
DATA geluc<>+28(SB)/4, $0xbc85458f
DATA geluc<>+32(SB)/4, $0x3c3781a0
DATA geluc<>+36(SB)/4, $0xbbfaf730
DATA geluc<>+40(SB)/4, $0x3bc721f7
DATA geluc<>+44(SB)/4, $0xbb69b1fc
DATA geluc<>+48(SB)/4, $0x3a1d9d6a
DATA geluc<>+52(SB)/4, $0xb9c7a047
DATA geluc<>+56(SB)/4, $0x3a8b2144
DATA geluc<>+60(SB)/4, $0xb9fe7860
DATA geluc<>+64(SB)/4, $0x40b504f3
DATA geluc<>+68(SB)/4, $0xc0b504f3
DATA geluc<>+72(SB)/4, $0x3d800000
DATA geluc<>+76(SB)/4, $0xbf800000
DATA geluc<>+80(SB)/4, $0x3f000000
GLOBL geluc<>(SB), RODATA|NOPTR, $84

// The arguments of both kernels, and the constants behind the polynomial in v11-v15.
#define GELUARGS(v11, v12, v13, v14, v15) \
	MOVQ c+0(FP), DI \
	MOVQ ldc+8(FP), SI \
	MOVQ rows+16(FP), R8 \
	MOVQ bias+24(FP), DX \
	MOVQ n+32(FP), CX \
	SHLQ $2, SI \
	VBROADCASTSS geluc<>+64(SB), v15 \
	VBROADCASTSS geluc<>+68(SB), v14 \
	VBROADCASTSS geluc<>+72(SB), v13 \
	VBROADCASTSS geluc<>+76(SB), v12 \
	VBROADCASTSS geluc<>+80(SB), v11

// func addGELUavx512(c *float32, ldc, rows int, bias *float32, n int)
//
// n is a positive multiple of 16, rows is positive.
TEXT ·addGELUavx512(SB), NOSPLIT, $0-40
	GELUARGS(Z11, Z12, Z13, Z14, Z15)

addGELUavx512_row:
	XORQ AX, AX

addGELUavx512_column:
	VMOVUPS (DI)(AX*4), Z0
	VADDPS  (DX)(AX*4), Z0, Z0
	VMINPS  Z0, Z15, Z1
	VMAXPS  Z1, Z14, Z1
	VMULPS  Z1, Z1, Z2
	VFMADD213PS Z12, Z13, Z2
	VBROADCASTSS geluc<>+60(SB), Z3
	VFMADD213PS.BCST geluc<>+56(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+52(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+48(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+44(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+40(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+36(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+32(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+28(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+24(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+20(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+16(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+12(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+8(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+4(SB), Z2, Z3
	VFMADD213PS.BCST geluc<>+0(SB), Z2, Z3
	VFMADD213PS Z11, Z1, Z3
	VMULPS  Z3, Z0, Z0
	VMOVUPS Z0, (DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT  addGELUavx512_column
	ADDQ SI, DI
	DECQ R8
	JNZ  addGELUavx512_row
	VZEROUPPER
	RET

// A step of Horner's rule; at is where the coefficient stands.
#define HORNER256(at) \
	VBROADCASTSS geluc<>+at(SB), Y4 \
	VFMADD213PS Y4, Y2, Y3

// func addGELUavx2(c *float32, ldc, rows int, bias *float32, n int)
//
// n is a positive multiple of 8, rows is positive.
TEXT ·addGELUavx2(SB), NOSPLIT, $0-40
	GELUARGS(Y11, Y12, Y13, Y14, Y15)

addGELUavx2_row:
	XORQ AX, AX

addGELUavx2_column:
	VMOVUPS (DI)(AX*4), Y0
	VADDPS  (DX)(AX*4), Y0, Y0
	VMINPS  Y0, Y15, Y1
	VMAXPS  Y1, Y14, Y1
	VMULPS  Y1, Y1, Y2
	VFMADD213PS Y12, Y13, Y2
	VBROADCASTSS geluc<>+60(SB), Y3
	HORNER256(56)
	HORNER256(52)
	HORNER256(48)
	HORNER256(44)
	HORNER256(40)
	HORNER256(36)
	HORNER256(32)
	HORNER256(28)
	HORNER256(24)
	HORNER256(20)
	HORNER256(16)
	HORNER256(12)
	HORNER256(8)
	HORNER256(4)
	HORNER256(0)
	VFMADD213PS Y11, Y1, Y3
	VMULPS  Y3, Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ $8, AX
	CMPQ AX, CX
	JLT  addGELUavx2_column
	ADDQ SI, DI
	DECQ R8
	JNZ  addGELUavx2_row
	VZEROUPPER
	RET

// The sum of the lanes of Y8, in all lanes of Y8, divided by the count in X7.
#define MEAN8 \
	VEXTRACTF128 $1, Y8, X9   \
	VADDPS X9, X8, X8         \
	VHADDPS X8, X8, X8        \
	VHADDPS X8, X8, X8        \
	VDIVSS X7, X8, X8         \
	VBROADCASTSS X8, Y8

// func addNormavx2(dst, a, b, c, scale, shift *float32, eps float32, n int)
//
// n is a positive multiple of 8.
TEXT ·addNormavx2(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), R8
	MOVQ b+16(FP), R9
	MOVQ c+24(FP), R10
	MOVQ scale+32(FP), R11
	MOVQ shift+40(FP), R12
	MOVQ n+56(FP), CX
	VXORPS X7, X7, X7
	VCVTSI2SSQ CX, X7, X7
	VXORPS Y8, Y8, Y8
	XORQ AX, AX

sum:
	VMOVUPS (R8)(AX*4), Y0
	VADDPS  (R9)(AX*4), Y0, Y0
	VADDPS  (R10)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	VADDPS  Y0, Y8, Y8
	ADDQ $8, AX
	CMPQ AX, CX
	JLT  sum

	MEAN8
	VMOVAPS Y8, Y6
	VXORPS Y8, Y8, Y8
	XORQ AX, AX

squares:
	VMOVUPS (DI)(AX*4), Y0
	VSUBPS  Y6, Y0, Y0
	VFMADD231PS Y0, Y0, Y8
	ADDQ $8, AX
	CMPQ AX, CX
	JLT  squares

	MEAN8
	VBROADCASTSS eps+48(FP), Y0
	VADDPS Y0, Y8, Y8
	VSQRTPS Y8, Y8
	VBROADCASTSS geluc<>+76(SB), Y0 // -1
	VDIVPS Y8, Y0, Y5 // -1/deviation
	XORQ AX, AX

apply:
	VSUBPS  (DI)(AX*4), Y6, Y0 // mean less value
	VMULPS  Y5, Y0, Y0
	VMOVUPS (R12)(AX*4), Y1
	VFMADD231PS (R11)(AX*4), Y0, Y1
	VMOVUPS Y1, (DI)(AX*4)
	ADDQ $8, AX
	CMPQ AX, CX
	JLT  apply
	VZEROUPPER
	RET
