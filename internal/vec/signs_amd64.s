//go:build amd64 && !purego

#include "textflag.h"

// Of eight components, the first four in the lower half and the others in the upper.
DATA signFirst<>+0(SB)/8, $0x0000000000000000
DATA signFirst<>+8(SB)/8, $0x0000000000000000
DATA signFirst<>+16(SB)/8, $0x0404040404040404
DATA signFirst<>+24(SB)/8, $0x0404040404040404
GLOBL signFirst<>(SB), RODATA|NOPTR, $32

// Which of 16 codes have bit 0, 1, 2, 3.
DATA signBits<>+0(SB)/8, $0xff00ff00ff00ff00
DATA signBits<>+8(SB)/8, $0xff00ff00ff00ff00
DATA signBits<>+16(SB)/8, $0xffff0000ffff0000
DATA signBits<>+24(SB)/8, $0xffff0000ffff0000
DATA signBits<>+32(SB)/8, $0xffffffff00000000
DATA signBits<>+40(SB)/8, $0xffffffff00000000
DATA signBits<>+48(SB)/8, $0x0000000000000000
DATA signBits<>+56(SB)/8, $0xffffffffffffffff
GLOBL signBits<>(SB), RODATA|NOPTR, $64

// Make scores of eight sums.
#define SCORE(sums, at) \
	VPADDD    sums, sums, sums   \
	VPSUBD    Y14, sums, sums    \
	VCVTDQ2PS sums, sums         \
	VMULPS    Y15, sums, sums    \
	VMULPS    at(R8), sums, sums \
	VADDPS    at(R9), sums, sums \
	VMOVUPS   sums, at(DI)

// Before the blocks.
#define SIGNS \
	MOVQ         dst+0(FP), DI      \
	MOVQ         codes+8(FP), SI    \
	MOVQ         factors+24(FP), R8 \
	MOVQ         offsets+32(FP), R9 \
	MOVQ         blocks+40(FP), DX  \
	MOVL         zero+56(FP), AX    \
	VMOVD        AX, X14            \
	VPBROADCASTD X14, Y14           \
	VBROADCASTSS scale+60(FP), Y15  \
	MOVL         $0x0f0f0f0f, AX    \
	VMOVD        AX, X13

// Before a block: its sums are 0, and R11 pairs are left.
#define BLOCK \
	MOVQ  tables+16(FP), R10 \
	MOVQ  pairs+48(FP), R11  \
	VPXOR Y8, Y8, Y8         \
	VPXOR Y9, Y9, Y9         \
	VPXOR Y10, Y10, Y10      \
	VPXOR Y11, Y11, Y11

// Take CX pairs of those left, at most 128.
#define RUN \
	MOVQ    $128, CX  \
	CMPQ    R11, CX   \
	CMOVQLT R11, CX   \
	SUBQ    CX, R11   \
	VPXOR   Y0, Y0, Y0 \
	VPXOR   Y1, Y1, Y1 \
	VPXOR   Y2, Y2, Y2 \
	VPXOR   Y3, Y3, Y3

// Add the sums of a run, of 16 bits, to those of the block. Sets ZF where no pair is left.
#define ENDRUN \
	VPSLLW       $8, Y1, Y4  \
	VPSLLW       $8, Y3, Y6  \
	VPSUBW       Y4, Y0, Y0  \
	VPSUBW       Y6, Y2, Y2  \
	VEXTRACTI128 $1, Y0, X4  \
	VEXTRACTI128 $1, Y1, X5  \
	VEXTRACTI128 $1, Y2, X6  \
	VEXTRACTI128 $1, Y3, X7  \
	VPADDW       X4, X0, X0  \
	VPADDW       X5, X1, X1  \
	VPADDW       X6, X2, X2  \
	VPADDW       X7, X3, X3  \
	VPUNPCKLWD   X1, X0, X4  \
	VPUNPCKHWD   X1, X0, X5  \
	VPUNPCKLWD   X3, X2, X6  \
	VPUNPCKHWD   X3, X2, X7  \
	VPMOVZXWD    X4, Y4      \
	VPMOVZXWD    X5, Y5      \
	VPMOVZXWD    X6, Y6      \
	VPMOVZXWD    X7, Y7      \
	VPADDD       Y4, Y8, Y8  \
	VPADDD       Y5, Y9, Y9  \
	VPADDD       Y6, Y10, Y10 \
	VPADDD       Y7, Y11, Y11 \
	TESTQ        R11, R11

// Write the scores of a block. Sets ZF after the last.
#define ENDBLOCK \
	SCORE(Y8, 0)   \
	SCORE(Y9, 32)  \
	SCORE(Y10, 64) \
	SCORE(Y11, 96) \
	ADDQ $128, DI  \
	ADDQ $128, R8  \
	ADDQ $128, R9  \
	DECQ DX

// func signTablesavx2(tables *byte, codes *int8, pairs int)
// pairs is positive.
TEXT ·signTablesavx2(SB), NOSPLIT, $0-24
	MOVQ           tables+0(FP), DI
	MOVQ           codes+8(FP), SI
	MOVQ           pairs+16(FP), CX
	VMOVDQU        signFirst<>(SB), Y8
	VPCMPEQD       Y4, Y4, Y4
	VPSUBB         Y4, Y8, Y9          // one further each
	VPSUBB         Y4, Y9, Y10
	VPSUBB         Y4, Y10, Y11
	VBROADCASTI128 signBits<>+0(SB), Y12
	VBROADCASTI128 signBits<>+16(SB), Y13
	VBROADCASTI128 signBits<>+32(SB), Y14
	VBROADCASTI128 signBits<>+48(SB), Y15
	MOVL           $0x80808080, AX
	VMOVD          AX, X7
	VPBROADCASTD   X7, Y7

table:
	VPBROADCASTQ (SI), Y0
	VPSHUFB      Y9, Y0, Y1
	VPSHUFB      Y10, Y0, Y2
	VPSHUFB      Y11, Y0, Y3
	VPSHUFB      Y8, Y0, Y0
	VPAND        Y12, Y0, Y0
	VPAND        Y13, Y1, Y1
	VPAND        Y14, Y2, Y2
	VPAND        Y15, Y3, Y3
	VPADDB       Y1, Y0, Y0
	VPADDB       Y3, Y2, Y2
	VPADDB       Y7, Y0, Y0
	VPADDB       Y2, Y0, Y0
	VMOVDQU      Y0, (DI)
	ADDQ         $8, SI
	ADDQ         $32, DI
	DECQ         CX
	JNZ          table
	VZEROUPPER
	RET

// func signScoresavx2(dst *float32, codes, tables *byte, factors, offsets *float32, blocks, pairs int, zero int32, scale float32)
// blocks and pairs are positive. A byte has the codes of two lanes. Bytes from
// the tables are added in 16 bits, two lanes at once in Y0 (lanes 0 to 15) and Y2
// (16 to 31), and the odd ones by themselves in Y1 and Y3, which tells them
// apart. That holds for 128 pairs: sums of 256 bytes.
TEXT ·signScoresavx2(SB), NOSPLIT, $0-64
	SIGNS
	VPBROADCASTD X13, Y13

block:
	BLOCK

run:
	RUN

pair:
	VMOVDQU (SI), Y4
	VMOVDQU (R10), Y5
	VPSRLW  $4, Y4, Y6
	VPAND   Y13, Y4, Y4
	VPAND   Y13, Y6, Y6
	VPSHUFB Y4, Y5, Y4
	VPSHUFB Y6, Y5, Y6
	VPADDW  Y4, Y0, Y0
	VPSRLW  $8, Y4, Y4
	VPADDW  Y6, Y2, Y2
	VPSRLW  $8, Y6, Y6
	VPADDW  Y4, Y1, Y1
	VPADDW  Y6, Y3, Y3
	ADDQ    $32, SI
	ADDQ    $32, R10
	DECQ    CX
	JNZ     pair
	ENDRUN
	JNZ     run
	ENDBLOCK
	JNZ     block
	VZEROUPPER
	RET

// func signScoresavx512(dst *float32, codes, tables *byte, factors, offsets *float32, blocks, pairs int, zero int32, scale float32)
// As signScoresavx2, two pairs at once; pairs is even.
TEXT ·signScoresavx512(SB), NOSPLIT, $0-64
	SIGNS
	VPBROADCASTD X13, Z13

block5:
	BLOCK

run5:
	RUN

pair5:
	VMOVDQU64     (SI), Z4
	VMOVDQU64     (R10), Z5
	VPSRLW        $4, Z4, Z6
	VPANDQ        Z13, Z4, Z4
	VPANDQ        Z13, Z6, Z6
	VPSHUFB       Z4, Z5, Z4
	VPSHUFB       Z6, Z5, Z6
	VPADDW        Z4, Z0, Z0
	VPSRLW        $8, Z4, Z4
	VPADDW        Z6, Z2, Z2
	VPSRLW        $8, Z6, Z6
	VPADDW        Z4, Z1, Z1
	VPADDW        Z6, Z3, Z3
	ADDQ          $64, SI
	ADDQ          $64, R10
	SUBQ          $2, CX
	JNZ           pair5
	VEXTRACTI64X4 $1, Z0, Y4
	VEXTRACTI64X4 $1, Z1, Y5
	VEXTRACTI64X4 $1, Z2, Y6
	VEXTRACTI64X4 $1, Z3, Y7
	VPADDW        Y4, Y0, Y0
	VPADDW        Y5, Y1, Y1
	VPADDW        Y6, Y2, Y2
	VPADDW        Y7, Y3, Y3
	ENDRUN
	JNZ           run5
	ENDBLOCK
	JNZ           block5
	VZEROUPPER
	RET

// func firstAboveavx2(x *float32, bar float32, n int) int
// n is a positive multiple of 32.
TEXT ·firstAboveavx2(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), SI
	VBROADCASTSS bar+8(FP), Y0
	MOVQ         n+16(FP), DX
	XORQ         CX, CX

above:
	VMOVUPS   (SI)(CX*4), Y1
	VMOVUPS   64(SI)(CX*4), Y2
	VMAXPS    32(SI)(CX*4), Y1, Y1
	VMAXPS    96(SI)(CX*4), Y2, Y2
	VMAXPS    Y2, Y1, Y1
	VCMPPS    $1, Y1, Y0, Y1       // bar < x
	VMOVMSKPS Y1, AX
	TESTL     AX, AX
	JNZ       which
	ADDQ      $32, CX
	CMPQ      CX, DX
	JLT       above
	JMP       done

which:
	VCMPPS    $1, (SI)(CX*4), Y0, Y1
	VMOVMSKPS Y1, AX
	TESTL     AX, AX
	JNZ       place
	ADDQ      $8, CX
	JMP       which

place:
	BSFL AX, AX
	ADDQ AX, CX

done:
	MOVQ CX, ret+24(FP)
	VZEROUPPER
	RET
