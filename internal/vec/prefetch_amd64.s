//go:build amd64 && !purego

#include "textflag.h"

// func prefetch4(a, b, c, d unsafe.Pointer, bytes int)
// bytes is positive.
TEXT ·prefetch4(SB), NOSPLIT, $0-40
	MOVQ a+0(FP), R8
	MOVQ b+8(FP), R9
	MOVQ c+16(FP), R10
	MOVQ d+24(FP), R11
	MOVQ bytes+32(FP), DX
	XORQ CX, CX

line:
	PREFETCHT0 (R8)(CX*1)
	PREFETCHT0 (R9)(CX*1)
	PREFETCHT0 (R10)(CX*1)
	PREFETCHT0 (R11)(CX*1)
	ADDQ       $64, CX
	CMPQ       CX, DX
	JLT        line
	RET
