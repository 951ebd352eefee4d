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
