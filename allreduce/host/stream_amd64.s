//go:build !race

#include "textflag.h"

// func streamAVX(dst, src, next *byte, n int)
// n is a positive multiple of 128, dst a multiple of 32.
TEXT ·streamAVX(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ next+16(FP), DX
	MOVQ n+24(FP), CX
loop:
	PREFETCHT0 (DX)
	PREFETCHT0 64(DX)
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VMOVNTDQ Y0, (DI)
	VMOVNTDQ Y1, 32(DI)
	VMOVNTDQ Y2, 64(DI)
	VMOVNTDQ Y3, 96(DI)
	ADDQ $128, SI
	ADDQ $128, DI
	ADDQ $128, DX
	SUBQ $128, CX
	JNZ loop
	SFENCE // before any store that tells of this one
	VZEROUPPER
	RET
