package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/shard"
)

// Enter makes somebody use a shard.
func (w *World) Enter(i int, who string) (leave func()) {
	w.shards[i].Enter(&shard.Visitor{What: who})
	return w.shards[i].Leave
}

// LookedAt returns how many ports the last refresh looked at.
func (w *World) LookedAt() int { return len(w.refresh.ports) }

// filler is the type of the components that FillComponents registers.
type filler struct{}

// FillComponents registers components that nothing uses, until the world has n of
// them. Real types in such numbers take the compiler a minute.
func FillComponents(w *World, n int) {
	for i := len(w.components); i < n; i++ {
		w.components = append(w.components, componentInfo{name: fmt.Sprint("filler ", i), typ: reflect.TypeFor[filler]()})
		w.columns = append(w.columns, shard.NewColumn[filler](w.space))
	}
}

// ReplaceApply has f run in place of the apply step of refreshes, for each shard.
func ReplaceApply(w *World, f func(int)) { w.refresh.apply = f }

// DrawWhileMailIsFilled has the port look at its mail when the refresh takes that to fill
// it, and draw handles instead.
func (p *Port) DrawWhileMailIsFilled(n int) error {
	q := p.mail.Swap(nil)
	defer p.mail.Store(q)
	p.trade(q)
	return p.fill(p.w.outside, n)
}
