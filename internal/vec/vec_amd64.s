//go:build amd64 && !purego

#include "textflag.h"

// func dotavx2(a, b *float32, n int) float32
// Four sums of eight lanes, which are added in order at the end; then the last n%32 products, one after the other.
TEXT ·dotavx2(SB), NOSPLIT, $0-28
	MOVQ   a+0(FP), DI
	MOVQ   b+8(FP), SI
	MOVQ   n+16(FP), DX
	MOVQ   DX, BX
	ANDQ   $-32, BX
	XORQ   CX, CX
	VXORPS Y0, Y0, Y0
	CMPQ   BX, $0
	JEQ    rest
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

loop:
	VMOVUPS     (DI)(CX*4), Y4
	VMOVUPS     32(DI)(CX*4), Y5
	VMOVUPS     64(DI)(CX*4), Y6
	VMOVUPS     96(DI)(CX*4), Y7
	VFMADD231PS (SI)(CX*4), Y4, Y0
	VFMADD231PS 32(SI)(CX*4), Y5, Y1
	VFMADD231PS 64(SI)(CX*4), Y6, Y2
	VFMADD231PS 96(SI)(CX*4), Y7, Y3
	ADDQ        $32, CX
	CMPQ        CX, BX
	JLT         loop

	VADDPS       Y1, Y0, Y0
	VADDPS       Y2, Y0, Y0
	VADDPS       Y3, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VMOVHLPS     X0, X0, X1
	VADDPS       X1, X0, X0
	VMOVSHDUP    X0, X1
	VADDSS       X1, X0, X0

rest:
	CMPQ        CX, DX
	JGE         done
	VMOVSS      (DI)(CX*4), X1
	VFMADD231SS (SI)(CX*4), X1, X0
	INCQ        CX
	JMP         rest

done:
	VZEROUPPER
	MOVSS X0, ret+24(FP)
	RET

// func largestavx2(x *float32, n int) float32
// n is a positive multiple of 8.
TEXT ·largestavx2(SB), NOSPLIT, $0-20
	MOVQ    x+0(FP), SI
	MOVQ    n+8(FP), DX
	VMOVUPS (SI), Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
	XORQ    CX, CX
	SUBQ    $24, DX

widel: // four maxima, so that none waits for the one before
	CMPQ   CX, DX
	JGE    lastl
	VMAXPS (SI)(CX*4), Y0, Y0
	VMAXPS 32(SI)(CX*4), Y1, Y1
	VMAXPS 64(SI)(CX*4), Y2, Y2
	VMAXPS 96(SI)(CX*4), Y3, Y3
	ADDQ   $32, CX
	JMP    widel

lastl:
	ADDQ   $24, DX
	VMAXPS Y1, Y0, Y0
	VMAXPS Y3, Y2, Y2
	VMAXPS Y2, Y0, Y0

loopl:
	CMPQ   CX, DX
	JGE    donel
	VMAXPS (SI)(CX*4), Y0, Y0
	ADDQ   $8, CX
	JMP    loopl

donel:
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VMOVHLPS     X0, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSHDUP    X0, X1
	VMAXSS       X1, X0, X0
	VZEROUPPER
	MOVSS        X0, ret+16(FP)
	RET

// func scaleavx2(x *float32, f float32, n int)
// n is a positive multiple of 8.
TEXT ·scaleavx2(SB), NOSPLIT, $0-24
	MOVQ         x+0(FP), SI
	VBROADCASTSS f+8(FP), Y0
	MOVQ         n+16(FP), DX
	XORQ         CX, CX
	SUBQ         $24, DX

wides:
	CMPQ    CX, DX
	JGE     lasts
	VMULPS  (SI)(CX*4), Y0, Y1
	VMULPS  32(SI)(CX*4), Y0, Y2
	VMULPS  64(SI)(CX*4), Y0, Y3
	VMULPS  96(SI)(CX*4), Y0, Y4
	VMOVUPS Y1, (SI)(CX*4)
	VMOVUPS Y2, 32(SI)(CX*4)
	VMOVUPS Y3, 64(SI)(CX*4)
	VMOVUPS Y4, 96(SI)(CX*4)
	ADDQ    $32, CX
	JMP     wides

lasts:
	ADDQ $24, DX

loops:
	CMPQ    CX, DX
	JGE     dones
	VMULPS  (SI)(CX*4), Y0, Y1
	VMOVUPS Y1, (SI)(CX*4)
	ADDQ    $8, CX
	JMP     loops

dones:
	VZEROUPPER
	RET
