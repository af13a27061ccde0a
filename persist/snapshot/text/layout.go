package text

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// This file writes what is not for people: slots, tables, chunks and bytes.

// chunkOf returns the chunk that rows are in.
func (p *picture) chunkOf(b *block) *store.ChunkImage {
	return &p.images[b.shard].Tables[b.table].Chunks[b.chunk]
}

// bytes writes a section that only its writer can read.
func (x *exporting) bytes(what, name string, body []byte) {
	for from := 0; from == 0 || from < len(body); from += bytesInLine {
		x.line(bytesLine{what, name, from, appendBytes(nil, body[from:min(from+bytesInLine, len(body))])})
	}
}

// state writes the state of the world as a whole.
func (x *exporting) state() {
	c := &drive.Cursor{Rest: x.body(format.WorldSection, 0), Most: x.p.most}
	s := format.ReadState(c)
	x.ended(c, format.WorldSection, 0)
	if s.Tick != x.p.head.Tick {
		x.fail(format.Altered("the world has tick %d, and the header %d", s.Tick, x.p.head.Tick))
	}
	x.line(stateLine{"world", s.Incarnation, s.Shard, s.Run, s.Misrouted, s.Moves, s.Gathered, x.named(s.Pinned), s.Hooks})
	ports := len(x.p.images)
	x.words("slots", ports, s.Ports.Slots)
	x.words("free", ports, s.Ports.Pool)
	x.handles(handlesLine{Handles: "recalled", Shard: ports}, s.Ports.Recalled)
}

// named returns the names of components.
func (x *exporting) named(ids []int) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		if id >= len(x.p.names.Components) {
			x.fail(format.Altered("there is no component %d", id))
			return nil
		}
		all[i] = x.p.names.Components[id].Name
	}
	return all
}

func (x *exporting) words(what string, shard int, all []uint32) {
	for from := 0; from < len(all); from += wordsInLine {
		x.line(wordsLine{what, shard, from, all[from:min(from+wordsInLine, len(all))]})
	}
}

func (x *exporting) handles(line handlesLine, all []handle.Handle) {
	for line.From = 0; line.From < len(all); line.From += handlesInLine {
		line.Are = line.Are[:0]
		for _, h := range all[line.From:min(line.From+handlesInLine, len(all))] {
			line.Are = append(line.Are, handleText(h))
		}
		x.line(line)
	}
}

// shard writes the slots, tables and chunks of a shard.
func (x *exporting) shard(i int) {
	s := &x.p.images[i]
	line := shardLine{Shard: i, Sections: x.p.sections[i], Marked: []markedText{}, Changes: []changeText{}, Stored: []storedText{}}
	for _, m := range s.Marked {
		line.Marked = append(line.Marked, markedText{m.Table, m.Chunks})
	}
	for _, n := range s.Changes {
		line.Changes = append(line.Changes, changeText{handleText(n.Handle), n.Moves, x.named(n.Components)})
	}
	for _, n := range s.Stored {
		if name := x.named([]int{n.Component}); name != nil {
			line.Stored = append(line.Stored, storedText{handleText(n.Handle), name[0]})
		}
	}
	x.line(line)
	x.words("slots", i, s.Slots)
	x.words("free", i, s.Free)
	x.handles(handlesLine{Handles: "created", Shard: i}, s.Created)
	for k := range s.Tables {
		t := &s.Tables[k]
		x.line(tableLine{k, i, x.named(t.Components), t.Listed, t.Fragmented, t.Left, t.Current})
		for n := range t.Chunks {
			c := &t.Chunks[n]
			x.line(chunkLine{n, k, i, c.Cap, c.Rows, c.Reserved, c.Changed, c.Written})
			if len(c.Handles) != c.Rows {
				x.fail(format.Altered("chunk %d of table %d of shard %d has no rows", n, k, i))
			}
			x.handles(handlesLine{Handles: "rows", Shard: i, Table: k, Chunk: n}, c.Handles)
		}
	}
}
