//go:build amd64 && !race

#include "textflag.h"

// func storeRelease(addr *uint32, v uint32)
TEXT ·storeRelease(SB), NOSPLIT|NOFRAME, $0-12
	MOVQ addr+0(FP), AX
	MOVL v+8(FP), CX
	MOVL CX, (AX)
	RET
