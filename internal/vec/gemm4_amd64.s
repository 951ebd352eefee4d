//go:build amd64 && !purego

#include "textflag.h"

// One row of a tile in a step along k, as in tile8x48avx512.
#define ROW4(addr, t, c0, c1, c2) \
	VBROADCASTSS addr, t       \
	VFMADD231PS  Z0, t, c0     \
	VFMADD231PS  Z1, t, c1     \
	VFMADD231PS  Z2, t, c2

#define STORE4(c0, c1, c2) \
	VMOVUPS c0, (DI)     \
	VMOVUPS c1, 64(DI)   \
	VMOVUPS c2, 128(DI)  \
	ADDQ    $192, DI

// func tile4x48avx512(c *float32, a *float32, rs, cs int, b *float32, k int)
//
// The tile of C lies in one piece and is not added to.
TEXT ·tile4x48avx512(SB), NOSPLIT, $0-48
	MOVQ c+0(FP), DI
	MOVQ a+8(FP), R8
	MOVQ rs+16(FP), R9
	MOVQ cs+24(FP), R13
	MOVQ b+32(FP), DX
	MOVQ k+40(FP), CX
	SHLQ $2, R9
	SHLQ $2, R13
	LEAQ (R9)(R9*2), R10

	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
	VPXORQ Z12, Z12, Z12
	VPXORQ Z13, Z13, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z15, Z15, Z15
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19

loop:
	VMOVUPS (DX), Z0
	VMOVUPS 64(DX), Z1
	VMOVUPS 128(DX), Z2
	PREFETCHT0 1536(DX)
	PREFETCHT0 1600(DX)
	PREFETCHT0 1664(DX)
	ROW4((R8), Z3, Z8, Z9, Z10)
	ROW4((R8)(R9*1), Z4, Z11, Z12, Z13)
	ROW4((R8)(R9*2), Z5, Z14, Z15, Z16)
	ROW4((R8)(R10*1), Z6, Z17, Z18, Z19)
	ADDQ $192, DX
	ADDQ R13, R8
	DECQ CX
	JNZ  loop

	STORE4(Z8, Z9, Z10)
	STORE4(Z11, Z12, Z13)
	STORE4(Z14, Z15, Z16)
	STORE4(Z17, Z18, Z19)
	VZEROUPPER
	RET
