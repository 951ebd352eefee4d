// What the kernels of NEON share.

#define ZERO4 \
	VEOR V0.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V1.B16, V1.B16 \
	VEOR V2.B16, V2.B16, V2.B16 \
	VEOR V3.B16, V3.B16, V3.B16

#define ZERO8 \
	ZERO4                       \
	VEOR V4.B16, V4.B16, V4.B16 \
	VEOR V5.B16, V5.B16, V5.B16 \
	VEOR V6.B16, V6.B16, V6.B16 \
	VEOR V7.B16, V7.B16, V7.B16

// Instructions that Go's assembler does not know, as words. d, n and m are numbers
// of vector registers; i is that of a group of four bytes in m, lane that of a float.
#define ADDP4(m, n, d) WORD $(0x4EA0BC00 | (m)<<16 | (n)<<5 | (d))
#define BIC16(m, n, d) WORD $(0x4E601C00 | (m)<<16 | (n)<<5 | (d)) // n &^ m
#define FADD2(m, n, d) WORD $(0x4E60D400 | (m)<<16 | (n)<<5 | (d))
#define FADD4(m, n, d) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
#define FADDP2(n, d) WORD $(0x7E70D800 | (n)<<5 | (d))
#define FADDP4(m, n, d) WORD $(0x6E20D400 | (m)<<16 | (n)<<5 | (d))
#define FCMGT4(m, n, d) WORD $(0x6EA0E400 | (m)<<16 | (n)<<5 | (d)) // n > m
#define FCVTL(n, d) WORD $(0x0E617800 | (n)<<5 | (d))
#define FCVTL2(n, d) WORD $(0x4E617800 | (n)<<5 | (d))
#define FCVTNS4(n, d) WORD $(0x4E21A800 | (n)<<5 | (d))
#define FCVTZS4(n, d) WORD $(0x4EA1B800 | (n)<<5 | (d))
#define FMAX4(m, n, d) WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d))
#define FMIN4(m, n, d) WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d))
#define FMLAE(m, lane, n, d) WORD $(0x4F801000 | ((lane)&1)<<21 | ((lane)>>1)<<11 | (m)<<16 | (n)<<5 | (d)) // d += n times that lane of m
#define FMLS4(m, n, d) WORD $(0x4EA0CC00 | (m)<<16 | (n)<<5 | (d))
#define FMUL4(m, n, d) WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
#define FRINTN4(n, d) WORD $(0x4E218800 | (n)<<5 | (d))
#define FSUB4(m, n, d) WORD $(0x4EA0D400 | (m)<<16 | (n)<<5 | (d))
#define SADALP(n, d) WORD $(0x4E606800 | (n)<<5 | (d))
#define SCVTF4(n, d) WORD $(0x4E21D800 | (n)<<5 | (d))
#define SDOT(m, n, d) WORD $(0x4E809400 | (m)<<16 | (n)<<5 | (d))
#define SDOTL(i, m, n, d) WORD $(0x4F80E000 | ((i)&1)<<21 | (m)<<16 | ((i)>>1)<<11 | (n)<<5 | (d))
#define SMULL(m, n, d) WORD $(0x0E20C000 | (m)<<16 | (n)<<5 | (d))
#define SMULL2(m, n, d) WORD $(0x4E20C000 | (m)<<16 | (n)<<5 | (d))
