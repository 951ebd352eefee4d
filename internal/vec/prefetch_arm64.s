//go:build arm64 && !purego

#include "textflag.h"

// func prefetch4(a, b, c, d unsafe.Pointer, bytes int)
// bytes is positive.
TEXT ·prefetch4(SB), NOSPLIT, $0-40
	MOVD a+0(FP), R1
	MOVD b+8(FP), R2
	MOVD c+16(FP), R3
	MOVD d+24(FP), R4
	MOVD bytes+32(FP), R5

line:
	PRFM (R1), PLDL1KEEP
	PRFM (R2), PLDL1KEEP
	PRFM (R3), PLDL1KEEP
	PRFM (R4), PLDL1KEEP
	ADD  $64, R1
	ADD  $64, R2
	ADD  $64, R3
	ADD  $64, R4
	SUBS $64, R5, R5
	BGT  line
	RET
