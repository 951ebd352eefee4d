//go:build amd64 && !purego

#include "textflag.h"

// Into the second cache: on their way to the first fewer lines may be at once.

// func prefetch(a unsafe.Pointer, bytes int)
// bytes is positive.
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), AX
	MOVQ bytes+8(FP), DX
	ADDQ AX, DX

line:
	PREFETCHT1 (AX)
	ADDQ       $64, AX
	CMPQ       AX, DX
	JLT        line
	RET

// func prefetchRows(rows **int8, n, bytes int)
// n and bytes are positive.
TEXT ·prefetchRows(SB), NOSPLIT, $0-24
	MOVQ rows+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ bytes+16(FP), BX

row:
	MOVQ (SI), AX
	LEAQ (AX)(BX*1), DX

line:
	PREFETCHT1 (AX)
	ADDQ       $64, AX
	CMPQ       AX, DX
	JLT        line
	ADDQ       $8, SI
	DECQ       CX
	JNZ        row
	RET
