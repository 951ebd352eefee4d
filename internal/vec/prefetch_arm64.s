//go:build arm64 && !purego

#include "textflag.h"

// func prefetch(a unsafe.Pointer, bytes int)
// bytes is positive.
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	MOVD bytes+8(FP), R1

line:
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	SUBS $64, R1, R1
	BGT  line
	RET

// func prefetchRows(rows **int8, n, bytes int)
// n and bytes are positive.
TEXT ·prefetchRows(SB), NOSPLIT, $0-24
	MOVD rows+0(FP), R2
	MOVD n+8(FP), R3
	MOVD bytes+16(FP), R4

row:
	MOVD.P 8(R2), R0
	MOVD   R4, R1

line:
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	SUBS $64, R1, R1
	BGT  line
	SUBS $1, R3, R3
	BNE  row
	RET
