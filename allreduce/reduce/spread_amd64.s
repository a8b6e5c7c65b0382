//go:build !race

#include "textflag.h"

// Every function here is func(dst, src *[]byte, nd, ns, from, to int, past
// bool): in the bytes from one offset up to another, the nd slices at dst get src[0] op src[1] op ... of the ns
// at src. There are a positive multiple of 128 of them; with past, every dst is
// aligned to 32 there. A slice is what its
// first word points to; the next is 24 bytes on.

// SPREAD takes 128 bytes of every operand at a time, so that each byte crosses
// the memory bus once. Past the caches, it also asks for what is 1 KiB ahead:
// with so many streams the processor does not see it by itself.
#define SPREAD(OP) \
	MOVQ dst+0(FP), DI; \
	MOVQ src+8(FP), SI; \
	MOVQ nd+16(FP), R8; \
	MOVQ ns+24(FP), R9; \
	MOVQ from+32(FP), AX; \
	MOVQ to+40(FP), CX; \
	MOVBLZX past+48(FP), DX; \
	DECQ R9; \
loop: \
	MOVQ SI, R10; \
	MOVQ R9, R12; \
	MOVQ (R10), R11; \
	ADDQ AX, R11; \
	VMOVDQU (R11), Y0; \
	VMOVDQU 32(R11), Y1; \
	VMOVDQU 64(R11), Y2; \
	VMOVDQU 96(R11), Y3; \
	PREFETCHT0 1024(R11); \
	PREFETCHT0 1088(R11); \
	TESTQ R12, R12; \
	JZ   stores; \
more: \
	ADDQ $24, R10; \
	MOVQ (R10), R11; \
	ADDQ AX, R11; \
	OP (R11), Y0, Y0; \
	OP 32(R11), Y1, Y1; \
	OP 64(R11), Y2, Y2; \
	OP 96(R11), Y3, Y3; \
	PREFETCHT0 1024(R11); \
	PREFETCHT0 1088(R11); \
	DECQ R12; \
	JNZ  more; \
stores: \
	MOVQ DI, R10; \
	MOVQ R8, R12; \
	TESTB DX, DX; \
	JNZ  pasts; \
store: \
	MOVQ (R10), R11; \
	ADDQ AX, R11; \
	VMOVDQU Y0, (R11); \
	VMOVDQU Y1, 32(R11); \
	VMOVDQU Y2, 64(R11); \
	VMOVDQU Y3, 96(R11); \
	ADDQ $24, R10; \
	DECQ R12; \
	JNZ  store; \
	JMP  next; \
pasts: \
	MOVQ (R10), R11; \
	ADDQ AX, R11; \
	VMOVNTDQ Y0, (R11); \
	VMOVNTDQ Y1, 32(R11); \
	VMOVNTDQ Y2, 64(R11); \
	VMOVNTDQ Y3, 96(R11); \
	ADDQ $24, R10; \
	DECQ R12; \
	JNZ  pasts; \
next: \
	ADDQ $128, AX; \
	CMPQ AX, CX; \
	JLT  loop; \
	SFENCE; \
	VZEROUPPER; \
	RET

TEXT ·spreadAdd8(SB), NOSPLIT, $0-49
	SPREAD(VPADDB)

TEXT ·spreadAdd32(SB), NOSPLIT, $0-49
	SPREAD(VPADDD)

TEXT ·spreadAdd64(SB), NOSPLIT, $0-49
	SPREAD(VPADDQ)

TEXT ·spreadAddF32(SB), NOSPLIT, $0-49
	SPREAD(VADDPS)

TEXT ·spreadAddF64(SB), NOSPLIT, $0-49
	SPREAD(VADDPD)

TEXT ·spreadMul32(SB), NOSPLIT, $0-49
	SPREAD(VPMULLD)

TEXT ·spreadMulF32(SB), NOSPLIT, $0-49
	SPREAD(VMULPS)

TEXT ·spreadMulF64(SB), NOSPLIT, $0-49
	SPREAD(VMULPD)

TEXT ·spreadMinI8(SB), NOSPLIT, $0-49
	SPREAD(VPMINSB)

TEXT ·spreadMinU8(SB), NOSPLIT, $0-49
	SPREAD(VPMINUB)

TEXT ·spreadMinI32(SB), NOSPLIT, $0-49
	SPREAD(VPMINSD)

TEXT ·spreadMinU32(SB), NOSPLIT, $0-49
	SPREAD(VPMINUD)

TEXT ·spreadMaxI8(SB), NOSPLIT, $0-49
	SPREAD(VPMAXSB)

TEXT ·spreadMaxU8(SB), NOSPLIT, $0-49
	SPREAD(VPMAXUB)

TEXT ·spreadMaxI32(SB), NOSPLIT, $0-49
	SPREAD(VPMAXSD)

TEXT ·spreadMaxU32(SB), NOSPLIT, $0-49
	SPREAD(VPMAXUD)
