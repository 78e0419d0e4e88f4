#include "textflag.h"

// func pairBlocks(a, b *byte, n int, p *pair) int
TEXT ·pairBlocks(SB), NOSPLIT, $0-40
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ p+24(FP), DX
	VPBROADCASTQ 0(DX), Y0  // x
	VPBROADCASTQ 8(DX), Y1  // y
	VPBROADCASTQ 16(DX), Y2 // foldX
	VPBROADCASTQ 24(DX), Y3 // foldY
	XORQ AX, AX
	ANDQ $~63, CX

loop:
	CMPQ AX, CX
	JGE  done
	VPOR (SI)(AX*1), Y2, Y4
	VPOR (DI)(AX*1), Y3, Y5
	VPOR 32(SI)(AX*1), Y2, Y6
	VPOR 32(DI)(AX*1), Y3, Y7
	VPCMPEQB Y0, Y4, Y4
	VPCMPEQB Y1, Y5, Y5
	VPCMPEQB Y0, Y6, Y6
	VPCMPEQB Y1, Y7, Y7
	VPAND Y4, Y5, Y4
	VPAND Y6, Y7, Y6
	VPOR Y4, Y6, Y4
	VPTEST Y4, Y4
	JNZ  done
	ADDQ $64, AX
	JMP  loop

done:
	VZEROUPPER
	MOVQ AX, ret+32(FP)
	RET
