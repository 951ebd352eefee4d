// Sum the lanes of Y0-Y3, whole numbers, into out[0:4].
#define SUMLANES \
	VPHADDD      Y1, Y0, Y0 \
	VPHADDD      Y3, Y2, Y2 \
	VPHADDD      Y2, Y0, Y0 \
	VEXTRACTI128 $1, Y0, X1 \
	VPADDD       X1, X0, X0 \
	VMOVDQU      X0, (AX)

// The last of them.
#define SUMINT \
	SUMLANES \
	VZEROUPPER

// Take less off Z0-Z3 and sum their lanes into out[0:4]. Y4-Y7 change.
#define SUMLESS(less) \
	VPSUBD        less, Z0, Z0 \
	VPSUBD        less, Z1, Z1 \
	VPSUBD        less, Z2, Z2 \
	VPSUBD        less, Z3, Z3 \
	VEXTRACTI64X4 $1, Z0, Y4   \
	VPADDD        Y4, Y0, Y0   \
	VEXTRACTI64X4 $1, Z1, Y5   \
	VPADDD        Y5, Y1, Y1   \
	VEXTRACTI64X4 $1, Z2, Y6   \
	VPADDD        Y6, Y2, Y2   \
	VEXTRACTI64X4 $1, Z3, Y7   \
	VPADDD        Y7, Y3, Y3   \
	SUMLANES

#define ZEROSUMS \
	VPXORQ Z0, Z0, Z0 \
	VPXORQ Z1, Z1, Z1 \
	VPXORQ Z2, Z2, Z2 \
	VPXORQ Z3, Z3, Z3

// K1 for the first n bytes, less than 64. BX changes.
#define FIRST(n) \
	MOVQ  $-1, BX   \
	BZHIQ n, BX, BX \
	KMOVQ BX, K1

// R8-R11 get the next four of the rows at BX, of which R12 are left; where these are fewer, BX and
// the sums at AX go back by what lacks, so that the last four overlap those before. R13 changes.
#define NEXTFOUR \
	XORQ    R8, R8       \
	MOVQ    $4, R13      \
	SUBQ    R12, R13     \
	CMOVQLT R8, R13      \
	ADDQ    R13, R12     \
	SHLQ    $2, R13      \
	SUBQ    R13, AX      \
	SHLQ    $1, R13      \
	SUBQ    R13, BX      \
	MOVQ    (BX), R8     \
	MOVQ    8(BX), R9    \
	MOVQ    16(BX), R10  \
	MOVQ    24(BX), R11

// Behind the four rows of NEXTFOUR, whose sums are written; none is left where it sets ZF.
#define PASSFOUR \
	ADDQ $16, AX \
	ADDQ $32, BX \
	SUBQ $4, R12
