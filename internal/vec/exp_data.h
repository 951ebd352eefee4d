// Constants of the exponentials, for the kernels of every machine. exp(r) on |r| ≤ ln(2)/2 is the polynomial of the Cephes
// library (Moshier), good to 2 units in the last place.
DATA expc<>+0(SB)/4, $0xc2aeac50 // -87.33655, ln of the least normal number
DATA expc<>+4(SB)/4, $0x3fb8aa3b // 1/ln(2)
DATA expc<>+8(SB)/4, $0x3f318000 // ln(2), upper bits
DATA expc<>+12(SB)/4, $0xb95e8083 // ln(2), the rest
DATA expc<>+16(SB)/4, $0x39506967 // 1.9875691e-4
DATA expc<>+20(SB)/4, $0x3ab743ce // 1.3981999e-3
DATA expc<>+24(SB)/4, $0x3c088908 // 8.3334519e-3
DATA expc<>+28(SB)/4, $0x3d2aa9c1 // 4.1665796e-2
DATA expc<>+32(SB)/4, $0x3e2aaaaa // 1.6666665e-1
DATA expc<>+36(SB)/4, $0x3f000000 // 0.5
DATA expc<>+40(SB)/4, $0x3f800000 // 1
GLOBL expc<>(SB), RODATA|NOPTR, $44
