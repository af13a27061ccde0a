package main

// handleBugs are in the value that names an entity.
var handleBugs = []bug{
	{
		name: "handle: shard is one bit too short", file: "handle/handle.go",
		old: "uint32(h >> shardShift & ShardMax)", new: "uint32(h >> shardShift & (ShardMax >> 1))",
		tests: tests{pkg: "handle", run: "TestFields"},
	},
	{
		name: "handle: New takes version 0", file: "handle/handle.go",
		old: "version-1 >= VersionMax", new: "version > VersionMax",
		tests: tests{pkg: "handle", run: "TestNewPanics"},
	},
	{
		name: "handle: the binary form is out of order", file: "handle/binary.go",
		old: "binary.BigEndian.AppendUint64(b, uint64(h))", new: "binary.LittleEndian.AppendUint64(b, uint64(h))",
		tests: tests{pkg: "handle", run: "TestBinary"},
	},
	{
		name: "handle: a second text form, with leading zeroes", file: "handle/parse.go",
		old: "if r.at > start && value == 0 {", new: "if false {",
		tests: tests{pkg: "handle", run: "TestParseRefuses"},
	},
	{
		name: "handle: text after the end is not seen", file: "handle/parse.go",
		old: `	r.end("the version")` + "\n", new: "",
		tests: tests{pkg: "handle", run: "TestParseRefuses"},
	},
}

// slotBugs are in who is given which slot, and when it is alive.
var slotBugs = []bug{
	{
		name: "slot: version bump skipped", file: "shard/home.go",
		old: "slot.store(word(dead+1, StateUnused))", new: "slot.store(word(dead, StateUnused))",
		tests: tests{pkg: "shard", run: "TestHome"},
	},
	{
		name: "slot: version bump skipped in a sweep", file: "shard/shard.go",
		old: "lookup.slot(h).store(word(h+1, StateUnused))", new: "lookup.slot(h).store(word(h, StateUnused))",
		tests: tests{pkg: "shard", run: "TestSweep|TestHome"},
	},
	{
		name: "slot: retirement off by one, late", file: "shard/home.go",
		old: "if dead.Version() >= h.space.versionMax {", new: "if dead.Version() > h.space.versionMax {",
		tests: tests{pkg: "shard", run: "TestHomeRetires"},
	},
	{
		name: "slot: retirement off by one, early", file: "shard/home.go",
		old: "if dead.Version() >= h.space.versionMax {", new: "if dead.Version()+1 >= h.space.versionMax {",
		tests: tests{pkg: "world", run: "TestPortVersions"},
	},
	{
		name: "slot: retirement off by one in a sweep", file: "shard/shard.go",
		old: "h.Version() >= versionMax", new: "h.Version() > versionMax",
		tests: tests{pkg: "shard", run: "TestSweep|TestHome"},
	},
	{
		name: "slot: a retired one is given again", file: "shard/home.go",
		old: "		h.retired++\n		return\n", new: "		h.retired++\n",
		tests: tests{pkg: "shard", run: "TestHomeRetires"},
	},
	{
		name: "slot: one that is at home elsewhere is recycled here", file: "shard/shard.go",
		old: "h.Shard() != id || ", new: "id != id || ",
		tests: tests{pkg: "shard", run: "TestHomeExiles"},
	},
	{
		name: "slot: exiles are not recycled outside", file: "world/refresh.go",
		old: "				w.outside.Recycle(s.Outer())\n", new: "",
		tests: tests{pkg: "world", run: "TestPortChurn|TestPortOutcomes"},
	},
	{
		name: "slot: published before the row is stored", file: "shard/shard.go",
		old: "	slot.loc = a.Loc()\n	slot.store(a.gen) // publishes loc and the row\n", new: "	slot.store(a.gen) // publishes loc and the row\n	slot.loc = a.Loc()\n",
		tests: tests{pkg: "shard", run: "TestReleaseLitmus", race: true},
	},
	{
		name: "slot: published before the row is stored, in the fast path", file: "shard/raw.go",
		old:   "	slot.loc = c.base + Loc(row)\n	slot.store(uint32(h)) // publishes loc and the row\n",
		new:   "	slot.store(uint32(h)) // publishes loc and the row\n	slot.loc = c.base + Loc(row)\n",
		tests: tests{pkg: "shard", run: "TestReleaseLitmus", race: true},
	},
	{
		name: "slot: a handle drawn from outside is not pending", file: "shard/outside.go",
		old: "		slot.store(word(h, StatePending))\n	}\n	return first, got, nil", new: "	}\n	return first, got, nil",
		tests: tests{pkg: "shard", run: "TestOutside"},
	},
	{
		name: "slot: outside, the cursor is not advanced far enough", file: "shard/outside.go",
		old:   "	i := o.fresh.Add(uint32(n)) - uint32(n)\n",
		new:   "	i := o.fresh.Add(uint32(n)/2) - uint32(n)/2\n",
		tests: tests{pkg: "shard", run: "TestOutsideDraw"},
	},
	{
		name: "slot: a free index stays in the list when it is given", file: "shard/outside.go",
		old: "	o.free = o.free[:n]\n	return h |", new: "	return h |",
		tests: tests{pkg: "shard", run: "TestOutsideGive"},
	},
	{
		name: "slot: a handle that is ready is given twice", file: "shard/outside.go",
		old: "	o.open.ready = o.open.ready[:rest]\n", new: "",
		tests: tests{pkg: "world", run: "TestPort"},
	},
	{
		name: "slot: what was told of comes back with its version", file: "shard/outside.go",
		old: "	for _, h := range due {\n		o.recycle(h)\n", new: "	for _, h := range due {\n		o.Return(h)\n",
		tests: tests{pkg: "world", run: "TestReservation"},
	},
	{
		name: "slot: the idle world's check reads version 0 as alive", file: "shard/space.go",
		old: "return g == uint32(h) && g != 0", new: "return g == uint32(h)",
		tests: tests{pkg: "shard", run: "TestSpaceNeverUsed|TestSpaceHostile"},
	},
	{
		name: "slot: a handle beyond the page is looked up all the same", file: "shard/space.go",
		old:   "	if i := h>>handle.VersionBits - e.base; i < pageSize {\n		return &e.page[i]\n	}\n	return nil\n",
		new:   "	if e.page != nil {\n		return &e.page[h>>handle.VersionBits&(pageSize-1)]\n	}\n	return nil\n",
		tests: tests{pkg: "shard", run: "TestSpaceHostile"},
	},
	{
		name: "slot: shards do not see pages that they add", file: "shard/space.go",
		old: "		s.show(home)\n", new: "",
		tests: tests{pkg: "world", run: "TestLimitIndexes|TestEntity"},
	},
	{
		name: "slot: mirrors are not synced", file: "shard/space.go",
		old: "		for owner := range s.lookups {\n			s.show(owner)\n		}\n", new: "",
		tests: tests{pkg: "world", run: "TestLimitIndexes|TestEntity|TestPortNumbers|TestModel"},
	},
}
