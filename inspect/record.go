package inspect

import (
	"context"
	"strconv"
)

func overrunID(tick uint64) string { return "o" + strconv.FormatUint(tick, 10) }

var _ context.Context
