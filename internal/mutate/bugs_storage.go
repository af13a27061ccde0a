package main

// storageBugs are in tables, chunks and columns.
var storageBugs = []bug{
	{
		name: "sweep: loc not fixed after compaction", file: "shard/sweep.go",
		old: "		sh.space.slot(sh.doomed[i]).loc = m.to\n", new: "		_, _ = i, m\n",
		tests: tests{pkg: "shard", run: "TestSweep"},
	},
	{
		name: "sweep: loc not fixed where the order is kept", file: "shard/sweep.go",
		old:   "				sh.space.slot(h).loc = hole\n				sh.moves = append(sh.moves, relocation{to: hole, from: c.base + Loc(row)})",
		new:   "				sh.moves = append(sh.moves, relocation{to: hole, from: c.base + Loc(row)})",
		tests: tests{pkg: "world", run: "TestKeepOrder"},
	},
	{
		name: "sweep: components do not move with their atom", file: "shard/sweep.go",
		old: "		col.move(sh.moves)\n", new: "		_ = col\n",
		tests: tests{pkg: "shard", run: "TestSweep"},
	},
	{
		name: "sweep: order is not kept", file: "shard/sweep.go",
		old: "	if sh.KeepOrder {\n", new: "	if false {\n",
		tests: tests{pkg: "world", run: "TestKeepOrder"},
	},
	{
		name: "sweep: chunks from the front", file: "shard/sweep.go",
		old: "return b.order - a.order })", new: "return a.order - b.order })",
		tests: tests{pkg: "shard", run: "TestSweep"},
	},
	{
		name: "sweep: dead bits not cleared on reuse", file: "shard/sweep.go",
		old: "	clear(c.dead)\n	c.forgetAll()\n", new: "	c.forgetAll()\n",
		tests: tests{pkg: "shard", run: "TestSweep"},
	},
	{
		name: "sweep: dead bits not cleared when their rows are taken", file: "shard/sweep.go",
		old: "		c.dead[i] = 0\n", new: "",
		tests: tests{pkg: "shard", run: "TestSweep"},
	},
	{
		name: "sweep: a dead bit stays when its row leaves", file: "shard/chunk.go",
		old: "	c.dead[row/64] &^= 1 << (row % 64)\n	c.deadN--\n", new: "	c.deadN--\n",
		tests: tests{pkg: "world", run: "TestChange|TestBatch"},
	},
	{
		name: "sweep: what the dead point to is kept", file: "shard/column.go",
		old: "	if c.pointers {\n		clear((*c.dir", new: "	if false {\n		clear((*c.dir",
		tests: tests{pkg: "shard", run: "TestSweepForgets"},
	},
	{
		name: "sweep: rows of an emptied chunk are not cleared", file: "shard/sweep.go",
		old: "			c.clear(0, c.used)\n			c.used = 0\n", new: "			c.used = 0\n",
		tests: tests{pkg: "world", run: "TestRowsHoldZeroes"},
	},
	{
		name: "marks: counted twice", file: "shard/chunk.go",
		old: "	if *w&bit != 0 {\n		return false\n	}\n", new: "",
		tests: tests{pkg: "world", run: "TestEntityLife|TestPortDestroyedOnce|TestLoopDestroys"},
	},
	{
		name: "marks: not counted where a chunk is marked whole", file: "shard/chunk.go",
		old: "fresh := c.n - c.deadN\n", new: "fresh := c.n\n",
		tests: tests{pkg: "world", run: "TestBatch|TestEntityClear"},
	},
	{
		name: "marks: one too many in the last word of a chunk", file: "shard/chunk.go",
		old: "c.dead[c.n/64] = 1<<rest - 1", new: "c.dead[c.n/64] = 1<<(rest+1) - 1",
		tests: tests{pkg: "world", run: "TestBatch|TestEntityClear"},
	},
	{
		name: "marks: the table is not told", file: "shard/chunk.go",
		old: "	*w |= bit\n	c.table.touch(c)\n", new: "	*w |= bit\n",
		tests: tests{pkg: "shard", run: "TestSweepPatterns"},
	},
	{
		name: "marks: lost when a row changes its table", file: "shard/transition.go",
		old: "	if c.marked(row) {\n		to.mark(at)\n		c.unmark(row)\n	}\n", new: "	if c.marked(row) {\n		c.unmark(row)\n	}\n",
		tests: tests{pkg: "world", run: "TestChange"},
	},
	{
		name: "change: loc of the row that fills the hole not fixed", file: "shard/transition.go",
		old: "		t.shard.space.slot(h).loc = c.base + Loc(row)\n", new: "",
		tests: tests{pkg: "world", run: "TestChange"},
	},
	{
		name: "change: components with pointers stay behind", file: "shard/transition.go",
		old: "		t.columns[p.to].copy(l, c.base+Loc(row))\n", new: "		_ = p\n",
		tests: tests{pkg: "world", run: "TestChange"},
	},
	{
		name: "change: a new component holds what the row held", file: "shard/relabel.go",
		old: "				c.zero(i, low, high)\n", new: "				_ = i\n",
		tests: tests{pkg: "world", run: "TestBatch|TestRowsHoldZeroes|TestNewComponentsAreZero"},
	},
	{
		name: "change: loc of the row that moves is left", file: "shard/transition.go",
		old: "	space.slot(h).loc = l\n", new: "	_ = space\n",
		tests: tests{pkg: "world", run: "TestChange"},
	},
	{
		name: "memory: large runs are not touched", file: "shard/memory.go",
		old: "		data[i] = *new(T)\n", new: "		_ = data[i]\n",
		tests: tests{pkg: "shard", run: "TestLargeRunsAreTouched"},
	},
	{
		name: "memory: huge pages are not asked for", file: "shard/memory.go",
		old: "			if hugepage.Ask(page) {\n", new: "			if page != 0 {\n",
		tests: tests{pkg: "shard", run: "TestHugePages"},
	},
	{
		name: "merge: rows are moved in another order", file: "shard/merge.go",
		old: "	for _, c := range t.chunks[from:last.order] {", new: "	for _, c := range slices.Backward(t.chunks[from:last.order]) {",
		tests: tests{pkg: "shard", run: "TestMerge"},
	},
	{
		name: "merge: loc not fixed", file: "shard/merge.go",
		old: "	c.located(n, c.n)\n", new: "",
		tests: tests{pkg: "shard", run: "TestMerge"},
	},
	{
		name: "merge: what is given up is held on to", file: "shard/merge.go",
		old: "		col.drop(c.number())\n", new: "		_ = col\n",
		tests: tests{pkg: "shard", run: "TestMergeGivesBack"},
	},
	{
		name: "relabel: rows that go in a run are still held", file: "shard/transition.go",
		old: "			col.wipe(c.number(), from, from+n)\n", new: "			_ = col\n",
		tests: tests{pkg: "shard", run: "TestRelabelLeavesNothing"},
	},
	{
		name: "relabel: the wrong column is kept", file: "shard/relabel.go",
		old: "c.bases = append(c.bases, s.mu.bases[at])", new: "c.bases = append(c.bases, s.mu.bases[len(s.mu.bases)-1-at])",
		tests: tests{pkg: "world", run: "TestBatch"},
	},
	{
		name: "relabel: dropped rows are not cleared", file: "shard/column.go",
		old: "	clear(e.data)\n	if check.Enabled {", new: "	if check.Enabled {",
		tests: tests{pkg: "world", run: "TestBatch|TestRowsHoldZeroes|TestNewComponentsAreZero"},
	},
	{
		name: "relabel: marked chunks are not known to their new table", file: "shard/relabel.go",
		old: "		to.touch(c)\n", new: "",
		tests: tests{pkg: "world", run: "TestBatch"},
	},
	{
		name: "relabel: a table without marked chunks stays dirty", file: "shard/table.go",
		old: "	if len(t.dirty) == 0 {\n		t.shard.dirty = slices", new: "	if len(t.dirty) == -1 {\n		t.shard.dirty = slices",
		tests: tests{pkg: "shard", run: "TestRelabelDoomed"},
	},
	{
		name: "disable: bits not carried in a sweep", file: "shard/sweep.go",
		old: "		c.carry(row, last, last.n)\n", new: "",
		tests: tests{pkg: "world", run: "TestDisable"},
	},
	{
		name: "disable: bits not carried to another table", file: "shard/transition.go",
		old: "		tr.carryOff(to, at, c, row)\n", new: "",
		tests: tests{pkg: "world", run: "TestDisable"},
	},
	{
		name: "disable: bits of the dead are left to the next", file: "shard/disable.go",
		old: "	for bit := range c.off.sets {\n		c.setOff(bit, row, false)\n	}\n", new: "",
		tests: tests{pkg: "world", run: "TestDisable"},
	},
	{
		name: "disable: bits out of place after a relabel", file: "shard/disable.go",
		old: "c.off.sets[1+i] = old.sets[1+at]", new: "c.off.sets[1+i] = old.sets[1+i%(len(old.sets)-1)]",
		tests: tests{pkg: "world", run: "TestDisable|TestBatch"},
	},
	{
		name: "change ticks: a pointer for writing does not stamp", file: "shard/raw.go",
		old: "			*e.stamp = *v.now\n			return (*T)", new: "			return (*T)",
		tests: tests{pkg: "world", run: "TestChunksSince"},
	},
	{
		name: "change ticks: a slice for writing does not stamp", file: "shard/column.go",
		old: "			*e.stamp = *v.now\n			return e.data", new: "			return e.data",
		tests: tests{pkg: "world", run: "TestChunksSince"},
	},
	{
		name: "change ticks: the tick stands still", file: "world/refresh.go",
		old: "w.space.SetTick(w.tick.next())", new: "w.tick.next()",
		tests: tests{pkg: "world", run: "TestChunksSince"},
	},
	{
		name: "change ticks: a row that came is not noted", file: "shard/sweep.go",
		old: "		c.changed = sh.space.now\n		c.carry", new: "		c.carry",
		tests: tests{pkg: "world", run: "TestChunksSince"},
	},
	{
		name: "record: the tick does not turn", file: "shard/shard.go",
		old: "	s.record.turn()\n", new: "",
		tests: tests{pkg: "world", run: "TestSince"},
	},
	{
		name: "flags: not published", file: "shard/shard.go",
		old: "	s.PublishFlags()\n", new: "",
		tests: tests{pkg: "world", run: "TestFlags"},
	},
	{
		name: "loops: see what is created within", file: "shard/table.go",
		old: "		if m.loop >= loop {\n			return m.rows\n		}\n", new: "		_ = m\n",
		tests: tests{pkg: "shard", run: "TestTableLoops"},
	},
	{
		name: "columns: a shard finds others' rows", file: "shard/raw.go",
		old: " && (v.all || dir[i].owner == v.owner)", new: "",
		tests: tests{pkg: "shard", run: "TestColumnViews"},
	},
	{
		name: "merge: a table is noted each time that it grows", file: "shard/table.go",
		old: " && !t.crowded {\n", new: " {\n",
		tests: tests{pkg: "shard", run: "TestMerge"},
	},
	{
		name: "merge: a table that was merged once is not noted again", file: "shard/shard.go",
		old: "		t.crowded = false\n", new: "",
		tests: tests{pkg: "shard", run: "TestMerge"},
	},
	{
		name: "columns: a chunk that lost the component is still found", file: "shard/column.go",
		old: "	*e, c.first[number] = columnChunk[T]{}, nil\n", new: "	*e = columnChunk[T]{}\n",
		tests: tests{pkg: "shard", run: "TestColumnViews"},
	},
	{
		name: "columns: mirrors are not synced", file: "shard/column.go",
		old: "	c.changed = false\n	for _, views := range c.views {\n		c.show(views)\n	}\n", new: "	c.changed = false\n",
		tests: tests{pkg: "shard", run: "TestColumnViews"},
	},
	{
		name: "columns: the owner does not see its new rows", file: "shard/column.go",
		old: "	c.show(c.views[owner])\n", new: "",
		tests: tests{pkg: "shard", run: "TestColumnViews"},
	},
}
