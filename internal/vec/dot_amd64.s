//go:build amd64 && !purego

#include "textflag.h"

// The kernels below take one query and four rows, so that each load of the
// query serves four sums. Every row is summed in the same order, whichever of
// the four places it has. n must be a positive multiple of 16.

#define PARAMS \
	MOVQ out+0(FP), AX \
	MOVQ q+8(FP), DI   \
	MOVQ a+16(FP), R8  \
	MOVQ b+24(FP), R9  \
	MOVQ c+32(FP), R10 \
	MOVQ d+40(FP), R11 \
	MOVQ n+48(FP), DX  \
	XORQ CX, CX

#define ZERO512 \
	VPXORQ Z0, Z0, Z0 \
	VPXORQ Z1, Z1, Z1 \
	VPXORQ Z2, Z2, Z2 \
	VPXORQ Z3, Z3, Z3 \
	VPXORQ Z4, Z4, Z4 \
	VPXORQ Z5, Z5, Z5 \
	VPXORQ Z6, Z6, Z6 \
	VPXORQ Z7, Z7, Z7

// Sum the lanes of Z0-Z3 (with Z4-Z7 added) into out[0:4].
#define SUM512 \
	VADDPS        Z4, Z0, Z0    \
	VADDPS        Z5, Z1, Z1    \
	VADDPS        Z6, Z2, Z2    \
	VADDPS        Z7, Z3, Z3    \
	VEXTRACTF64X4 $1, Z0, Y4    \
	VADDPS        Y4, Y0, Y0    \
	VEXTRACTF64X4 $1, Z1, Y5    \
	VADDPS        Y5, Y1, Y1    \
	VEXTRACTF64X4 $1, Z2, Y6    \
	VADDPS        Y6, Y2, Y2    \
	VEXTRACTF64X4 $1, Z3, Y7    \
	VADDPS        Y7, Y3, Y3    \
	SUM256

// Sum the lanes of Y0-Y3 into out[0:4].
#define SUM256 \
	VHADDPS      Y1, Y0, Y0 \
	VHADDPS      Y3, Y2, Y2 \
	VHADDPS      Y2, Y0, Y0 \
	VEXTRACTF128 $1, Y0, X1 \
	VADDPS       X1, X0, X0 \
	VMOVUPS      X0, (AX)   \
	VZEROUPPER

// func dot4avx512(out *[4]float32, q, a, b, c, d *float32, n int)
TEXT ·dot4avx512(SB), NOSPLIT, $0-56
	PARAMS
	ZERO512
	TESTQ $16, DX
	JZ    pair
	VMOVUPS (DI), Z8
	VFMADD231PS (R8), Z8, Z0
	VFMADD231PS (R9), Z8, Z1
	VFMADD231PS (R10), Z8, Z2
	VFMADD231PS (R11), Z8, Z3
	ADDQ $16, CX
	CMPQ CX, DX
	JGE  sum

pair:
	VMOVUPS (DI)(CX*4), Z8
	VMOVUPS 64(DI)(CX*4), Z9
	VFMADD231PS (R8)(CX*4), Z8, Z0
	VFMADD231PS (R9)(CX*4), Z8, Z1
	VFMADD231PS (R10)(CX*4), Z8, Z2
	VFMADD231PS (R11)(CX*4), Z8, Z3
	VFMADD231PS 64(R8)(CX*4), Z9, Z4
	VFMADD231PS 64(R9)(CX*4), Z9, Z5
	VFMADD231PS 64(R10)(CX*4), Z9, Z6
	VFMADD231PS 64(R11)(CX*4), Z9, Z7
	ADDQ $32, CX
	CMPQ CX, DX
	JLT  pair

sum:
	SUM512
	RET

// func l2x4avx512(out *[4]float32, q, a, b, c, d *float32, n int)
TEXT ·l2x4avx512(SB), NOSPLIT, $0-56
	PARAMS
	ZERO512
	TESTQ $16, DX
	JZ    pairl
	VMOVUPS (DI), Z8
	VSUBPS (R8), Z8, Z10
	VSUBPS (R9), Z8, Z11
	VSUBPS (R10), Z8, Z12
	VSUBPS (R11), Z8, Z13
	VFMADD231PS Z10, Z10, Z0
	VFMADD231PS Z11, Z11, Z1
	VFMADD231PS Z12, Z12, Z2
	VFMADD231PS Z13, Z13, Z3
	ADDQ $16, CX
	CMPQ CX, DX
	JGE  suml

pairl:
	VMOVUPS (DI)(CX*4), Z8
	VMOVUPS 64(DI)(CX*4), Z9
	VSUBPS (R8)(CX*4), Z8, Z10
	VSUBPS (R9)(CX*4), Z8, Z11
	VSUBPS (R10)(CX*4), Z8, Z12
	VSUBPS (R11)(CX*4), Z8, Z13
	VSUBPS 64(R8)(CX*4), Z9, Z14
	VSUBPS 64(R9)(CX*4), Z9, Z15
	VSUBPS 64(R10)(CX*4), Z9, Z16
	VSUBPS 64(R11)(CX*4), Z9, Z17
	VFMADD231PS Z10, Z10, Z0
	VFMADD231PS Z11, Z11, Z1
	VFMADD231PS Z12, Z12, Z2
	VFMADD231PS Z13, Z13, Z3
	VFMADD231PS Z14, Z14, Z4
	VFMADD231PS Z15, Z15, Z5
	VFMADD231PS Z16, Z16, Z6
	VFMADD231PS Z17, Z17, Z7
	ADDQ $32, CX
	CMPQ CX, DX
	JLT  pairl

suml:
	SUM512
	RET

#define ZERO256 \
	VXORPS Y0, Y0, Y0 \
	VXORPS Y1, Y1, Y1 \
	VXORPS Y2, Y2, Y2 \
	VXORPS Y3, Y3, Y3 \
	VXORPS Y4, Y4, Y4 \
	VXORPS Y5, Y5, Y5 \
	VXORPS Y6, Y6, Y6 \
	VXORPS Y7, Y7, Y7

#define SUM256X2 \
	VADDPS Y4, Y0, Y0 \
	VADDPS Y5, Y1, Y1 \
	VADDPS Y6, Y2, Y2 \
	VADDPS Y7, Y3, Y3 \
	SUM256

// func dot4avx2(out *[4]float32, q, a, b, c, d *float32, n int)
TEXT ·dot4avx2(SB), NOSPLIT, $0-56
	PARAMS
	ZERO256

loopd:
	VMOVUPS (DI)(CX*4), Y8
	VMOVUPS 32(DI)(CX*4), Y9
	VFMADD231PS (R8)(CX*4), Y8, Y0
	VFMADD231PS (R9)(CX*4), Y8, Y1
	VFMADD231PS (R10)(CX*4), Y8, Y2
	VFMADD231PS (R11)(CX*4), Y8, Y3
	VFMADD231PS 32(R8)(CX*4), Y9, Y4
	VFMADD231PS 32(R9)(CX*4), Y9, Y5
	VFMADD231PS 32(R10)(CX*4), Y9, Y6
	VFMADD231PS 32(R11)(CX*4), Y9, Y7
	ADDQ $16, CX
	CMPQ CX, DX
	JLT  loopd
	SUM256X2
	RET

// func l2x4avx2(out *[4]float32, q, a, b, c, d *float32, n int)
TEXT ·l2x4avx2(SB), NOSPLIT, $0-56
	PARAMS
	ZERO256

loop4:
	VMOVUPS (DI)(CX*4), Y8
	VMOVUPS 32(DI)(CX*4), Y9
	VSUBPS (R8)(CX*4), Y8, Y10
	VSUBPS (R9)(CX*4), Y8, Y11
	VSUBPS (R10)(CX*4), Y8, Y12
	VSUBPS (R11)(CX*4), Y8, Y13
	VFMADD231PS Y10, Y10, Y0
	VFMADD231PS Y11, Y11, Y1
	VFMADD231PS Y12, Y12, Y2
	VFMADD231PS Y13, Y13, Y3
	VSUBPS 32(R8)(CX*4), Y9, Y10
	VSUBPS 32(R9)(CX*4), Y9, Y11
	VSUBPS 32(R10)(CX*4), Y9, Y12
	VSUBPS 32(R11)(CX*4), Y9, Y13
	VFMADD231PS Y10, Y10, Y4
	VFMADD231PS Y11, Y11, Y5
	VFMADD231PS Y12, Y12, Y6
	VFMADD231PS Y13, Y13, Y7
	ADDQ $16, CX
	CMPQ CX, DX
	JLT  loop4
	SUM256X2
	RET

// func axpyavx2(y *float32, f float32, x *float32, n int)
TEXT ·axpyavx2(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	VBROADCASTSS f+8(FP), Y0
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), DX
	XORQ CX, CX

loopa:
	VMOVUPS (DI)(CX*4), Y1
	VMOVUPS 32(DI)(CX*4), Y2
	VFMADD231PS (SI)(CX*4), Y0, Y1
	VFMADD231PS 32(SI)(CX*4), Y0, Y2
	VMOVUPS Y1, (DI)(CX*4)
	VMOVUPS Y2, 32(DI)(CX*4)
	ADDQ $16, CX
	CMPQ CX, DX
	JLT  loopa
	VZEROUPPER
	RET

// One row of DOTAXPY: its sum in dots gains row·x, and Y15, what is added to y, gains
// f·row.
#define DOTAXPYROW(row, f, dots) \
	VMOVUPS     (row)(DX*4), Y13 \
	VFMADD231PS Y14, Y13, dots   \
	VFMADD231PS f, Y13, Y15

// func dotAxpy4avx2(out *[4]float32, y *float32, f *[4]float32, x, a, b, c, d *float32, n int)
// n is a positive multiple of 8.
TEXT ·dotAxpy4avx2(SB), NOSPLIT, $0-72
	MOVQ         out+0(FP), AX
	MOVQ         y+8(FP), DI
	MOVQ         f+16(FP), BX
	MOVQ         x+24(FP), SI
	MOVQ         a+32(FP), R8
	MOVQ         b+40(FP), R9
	MOVQ         c+48(FP), R10
	MOVQ         d+56(FP), R11
	MOVQ         n+64(FP), CX
	VBROADCASTSS (BX), Y8
	VBROADCASTSS 4(BX), Y9
	VBROADCASTSS 8(BX), Y10
	VBROADCASTSS 12(BX), Y11
	VXORPS       Y0, Y0, Y0
	VXORPS       Y1, Y1, Y1
	VXORPS       Y2, Y2, Y2
	VXORPS       Y3, Y3, Y3
	XORQ         DX, DX

loopda:
	VMOVUPS (SI)(DX*4), Y14
	VMOVUPS (DI)(DX*4), Y15
	DOTAXPYROW(R8, Y8, Y0)
	DOTAXPYROW(R9, Y9, Y1)
	DOTAXPYROW(R10, Y10, Y2)
	DOTAXPYROW(R11, Y11, Y3)
	VMOVUPS Y15, (DI)(DX*4)
	ADDQ    $8, DX
	CMPQ    DX, CX
	JLT     loopda
	SUM256
	RET
