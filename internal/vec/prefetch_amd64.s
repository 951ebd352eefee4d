//go:build amd64 && !purego

#include "textflag.h"

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
