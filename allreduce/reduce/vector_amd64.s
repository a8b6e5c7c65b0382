//go:build !race

#include "textflag.h"

// Every function here is func(dst, a, b *byte, n int): dst = a op b for n bytes,
// n a positive multiple of 128 (of 64 for the 16-bit floats). Operands may be
// unaligned; dst may be a or b.

#define OPERANDS \
	MOVQ dst+0(FP), DI; \
	MOVQ a+8(FP), SI; \
	MOVQ b+16(FP), DX; \
	MOVQ n+24(FP), CX

// PLAIN takes 128 bytes at a time.
#define PLAIN(OP) \
	OPERANDS; \
loop: \
	VMOVDQU (SI), Y0; \
	VMOVDQU 32(SI), Y1; \
	VMOVDQU 64(SI), Y2; \
	VMOVDQU 96(SI), Y3; \
	OP (DX), Y0, Y0; \
	OP 32(DX), Y1, Y1; \
	OP 64(DX), Y2, Y2; \
	OP 96(DX), Y3, Y3; \
	VMOVDQU Y0, (DI); \
	VMOVDQU Y1, 32(DI); \
	VMOVDQU Y2, 64(DI); \
	VMOVDQU Y3, 96(DI); \
	ADDQ $128, SI; \
	ADDQ $128, DX; \
	ADDQ $128, DI; \
	SUBQ $128, CX; \
	JNZ  loop; \
	VZEROUPPER; \
	RET

// HALF widens 64 bytes of float16 to float32, and rounds to nearest even.
#define HALF(OP) \
	OPERANDS; \
loop: \
	VCVTPH2PS (SI), Y0; \
	VCVTPH2PS 16(SI), Y1; \
	VCVTPH2PS 32(SI), Y2; \
	VCVTPH2PS 48(SI), Y3; \
	VCVTPH2PS (DX), Y4; \
	VCVTPH2PS 16(DX), Y5; \
	VCVTPH2PS 32(DX), Y6; \
	VCVTPH2PS 48(DX), Y7; \
	OP Y4, Y0, Y0; \
	OP Y5, Y1, Y1; \
	OP Y6, Y2, Y2; \
	OP Y7, Y3, Y3; \
	VCVTPS2PH $0, Y0, (DI); \
	VCVTPS2PH $0, Y1, 16(DI); \
	VCVTPS2PH $0, Y2, 32(DI); \
	VCVTPS2PH $0, Y3, 48(DI); \
	ADDQ $64, SI; \
	ADDQ $64, DX; \
	ADDQ $64, DI; \
	SUBQ $64, CX; \
	JNZ  loop; \
	VZEROUPPER; \
	RET

// WIDEN makes 8 float32 of 16 bytes of bfloat16.
#define WIDEN(mem, reg) \
	VPMOVZXWD mem, reg; \
	VPSLLD $16, reg, reg

// ROUND leaves the upper half of 8 float32, rounded to nearest even, in the
// lower halves: u + 0x7fff + (u>>16 & 1), or 0x7fff for a NaN. Y13 to Y15 hold
// 0x7fff, 1 and 0x7fff<<16.
#define ROUND(reg) \
	VCMPPS $3, reg, reg, Y10; \
	VPSRLD $16, reg, Y11; \
	VPAND Y14, Y11, Y11; \
	VPADDD Y13, reg, reg; \
	VPADDD Y11, reg, reg; \
	VPSRLD $16, reg, reg; \
	VPBLENDVB Y10, Y13, reg, reg

// BRAIN does for bfloat16 what HALF does for float16.
#define BRAIN(OP) \
	OPERANDS; \
	VPCMPEQD Y14, Y14, Y14; \
	VPSRLD $17, Y14, Y13; \
	VPSRLD $31, Y14, Y14; \
loop: \
	WIDEN((SI), Y0); \
	WIDEN(16(SI), Y1); \
	WIDEN(32(SI), Y2); \
	WIDEN(48(SI), Y3); \
	WIDEN((DX), Y4); \
	WIDEN(16(DX), Y5); \
	WIDEN(32(DX), Y6); \
	WIDEN(48(DX), Y7); \
	OP Y4, Y0, Y0; \
	OP Y5, Y1, Y1; \
	OP Y6, Y2, Y2; \
	OP Y7, Y3, Y3; \
	ROUND(Y0); \
	ROUND(Y1); \
	ROUND(Y2); \
	ROUND(Y3); \
	VPACKUSDW Y1, Y0, Y0; \
	VPACKUSDW Y3, Y2, Y2; \
	VPERMQ $0xd8, Y0, Y0; \
	VPERMQ $0xd8, Y2, Y2; \
	VMOVDQU Y0, (DI); \
	VMOVDQU Y2, 32(DI); \
	ADDQ $64, SI; \
	ADDQ $64, DX; \
	ADDQ $64, DI; \
	SUBQ $64, CX; \
	JNZ  loop; \
	VZEROUPPER; \
	RET

TEXT ·vecAdd8(SB), NOSPLIT, $0-32
	PLAIN(VPADDB)

TEXT ·vecAdd32(SB), NOSPLIT, $0-32
	PLAIN(VPADDD)

TEXT ·vecAdd64(SB), NOSPLIT, $0-32
	PLAIN(VPADDQ)

TEXT ·vecAddF32(SB), NOSPLIT, $0-32
	PLAIN(VADDPS)

TEXT ·vecAddF64(SB), NOSPLIT, $0-32
	PLAIN(VADDPD)

TEXT ·vecAddF16(SB), NOSPLIT, $0-32
	HALF(VADDPS)

TEXT ·vecAddBF16(SB), NOSPLIT, $0-32
	BRAIN(VADDPS)

TEXT ·vecMul32(SB), NOSPLIT, $0-32
	PLAIN(VPMULLD)

TEXT ·vecMulF32(SB), NOSPLIT, $0-32
	PLAIN(VMULPS)

TEXT ·vecMulF64(SB), NOSPLIT, $0-32
	PLAIN(VMULPD)

TEXT ·vecMulF16(SB), NOSPLIT, $0-32
	HALF(VMULPS)

TEXT ·vecMulBF16(SB), NOSPLIT, $0-32
	BRAIN(VMULPS)

TEXT ·vecMinI8(SB), NOSPLIT, $0-32
	PLAIN(VPMINSB)

TEXT ·vecMinU8(SB), NOSPLIT, $0-32
	PLAIN(VPMINUB)

TEXT ·vecMinI32(SB), NOSPLIT, $0-32
	PLAIN(VPMINSD)

TEXT ·vecMinU32(SB), NOSPLIT, $0-32
	PLAIN(VPMINUD)

TEXT ·vecMaxI8(SB), NOSPLIT, $0-32
	PLAIN(VPMAXSB)

TEXT ·vecMaxU8(SB), NOSPLIT, $0-32
	PLAIN(VPMAXUB)

TEXT ·vecMaxI32(SB), NOSPLIT, $0-32
	PLAIN(VPMAXSD)

TEXT ·vecMaxU32(SB), NOSPLIT, $0-32
	PLAIN(VPMAXUD)
