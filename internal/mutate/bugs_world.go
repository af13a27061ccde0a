package main

// worldBugs are in what a user holds.
var worldBugs = []bug{
	{
		name: "world: foreign read not declared", file: "world/access.go",
		old: "	bound.access.Foreign.Add(id)\n", new: "",
		tests: tests{pkg: "scheduler", run: "TestFence"},
	},
	{
		name: "world: creating is not declared as writing", file: "world/build.go",
		old: "		b.access.Writes = b.access.Writes.Union(x.components(b.w))\n", new: "		_ = x\n",
		tests: tests{pkg: "scheduler", run: "TestFenceOfCreates"},
	},
	{
		name: "world: a system may write what it only reads", file: "world/context.go",
		old: "	if !c.access.Writes.Has(component) {", new: "	if !c.access.Writes.Has(component) && !c.access.Reads.Has(component) {",
		tests: tests{pkg: "world", run: "TestAccessUndeclared"},
	},
	{
		name: "world: a query takes what it must not", file: "world/query.go",
		old: "return set.Contains(&q.with) && !set.Meets(&q.without)", new: "return set.Contains(&q.with)",
		tests: tests{pkg: "world", run: "TestQueryTerms"},
	},
	{
		name: "world: a query does not see new tables", file: "world/query.go",
		old: "	if p.seen != len(p.shard.Tables()) {\n		p.update(q)\n	}\n	for", new: "	for",
		tests: tests{pkg: "world", run: "TestQueryWalksNewTables"},
	},
	{
		name: "world: rows may move within a query loop", file: "world/query.go",
		old: "	w.open++\n	defer w.closeLoop()\n	w.loop++", new: "	w.loop++",
		tests: tests{pkg: "world", run: "TestMisuseInLoop"},
	},
	{
		name: "world: new entities go to one shard", file: "world/world.go",
		old: "if w.cursor++; w.cursor >= len(w.shards) {", new: "if w.cursor >= len(w.shards) {",
		tests: tests{pkg: "world", run: "TestPlaceRoundRobin"},
	},
	{
		name: "world: Clear forgets what ports had requested", file: "world/world.go",
		old: "	w.mustSettle(\"Clear\")\n	w.Refresh()\n", new: "	w.mustSettle(\"Clear\")\n",
		tests: tests{pkg: "world", run: "TestEntityClear"},
	},
	{
		name: "world: a version beyond the slot's is stale, not forged", file: "world/status.go",
		old: "	case h.Version() > version:\n		return Forged\n", new: "	case h.Version() > version:\n		return Stale\n",
		tests: tests{pkg: "world", run: "TestSemantics|TestEntity"},
	},
	{
		name: "world: outsiders are told that an entity is dying", file: "world/context.go",
		old: "if l := c.w.space.Locate(h); l != 0 && c.owns(l) && c.w.space.Marked(l) {", new: "if l := c.w.space.Locate(h); l != 0 && c.w.space.Marked(l) {",
		tests: tests{pkg: "world", run: "TestSemantics"},
	},
	{
		name: "world: a system destroys in other shards at once", file: "world/context.go",
		old: "	case c.owns(l):\n		c.w.space.Mark(l)\n		return nil\n", new: "	case true:\n		c.w.space.Mark(l)\n		return nil\n",
		tests: tests{pkg: "world", run: "TestSemantics"},
	},
	{
		name: "messages: delivered too early, and lost", file: "world/message.go",
		old: "	box.next = append(box.next, Envelope[M]{h, *body})\n", new: "	box.now = append(box.now, Envelope[M]{h, *body})\n",
		tests: tests{pkg: "world", run: "TestMessage"},
	},
	{
		name: "messages: delivered again in the next tick", file: "world/message.go",
		old: "	box.now, box.next = box.next, box.now[:0]\n", new: "	box.now, box.next = box.next, box.next[:0:0]\n	box.next = append(box.next, box.now...)\n",
		tests: tests{pkg: "world", run: "TestMessage"},
	},
	{
		name: "messages: go to the shard of the handle, not of the atom", file: "world/message.go",
		old: "box := &m.boxes[s.ID()]", new: "box := &m.boxes[int(h.Shard())%len(m.boxes)]",
		tests: tests{pkg: "world", run: "TestMessage"},
	},
	{
		name: "completion: one that waits may be used again", file: "world/completion.go",
		old: "	if c.state.Load() == armed {\n		panic(", new: "	if false {\n		panic(",
		tests: tests{pkg: "world", run: "TestCompletion|TestMisuse"},
	},
	{
		name: "completion: an old signal counts for the next outcome", file: "world/completion.go",
		old: "	for c.state.Load() == armed {\n		select {", new: "	if c.state.Load() == armed {\n		select {",
		tests: tests{pkg: "world", run: "TestCompletion"},
	},
}

// refreshBugs are in the coordination of a refresh.
var refreshBugs = []bug{
	{
		name: "refresh: the epoch is closed after the lanes are read", file: "world/refresh.go",
		old: "	r.gather(w.epoch.Add(1) - 1)\n", new: "	r.gather(w.epoch.Load())\n	w.epoch.Add(1)\n",
		tests: tests{pkg: "world", run: "TestPortCut"},
	},
	{
		name: "refresh: no cut", file: "world/refresh.go",
		old: "	r.gather(w.epoch.Add(1) - 1)\n", new: "	r.gather(w.epoch.Add(1) + 1000)\n",
		tests: tests{pkg: "world", run: "TestPortCut"},
	},
	{
		name: "refresh: outboxes in another order than the shards", file: "world/refresh.go",
		old: "	for _, c := range w.contexts {\n		if c.out.lane", new: "	for i := range w.contexts {\n		c := w.contexts[len(w.contexts)-1-i]\n		if c.out.lane",
		tests: tests{pkg: "world", run: "TestMessageOrder"},
	},
	{
		name: "refresh: arrival order instead of sequence", file: "world/refresh.go",
		old:   "	r.ports = w.ports.collect(r.ports[:0])\n",
		new:   "	r.ports = w.ports.collect(r.ports[:0])\n	for i, k := 0, len(r.ports)-1; i < k; i, k = i+1, k-1 {\n		r.ports[i], r.ports[k] = r.ports[k], r.ports[i]\n	}\n",
		tests: tests{pkg: "world", run: "TestMessageOrder|TestPortOfTwo"},
	},
	{
		name: "refresh: the atoms of new handles are stored last", file: "world/refresh.go",
		old:   "	r.step(parallel, n, r.sum((*shard.Shard).Creates), r.create)\n	r.route()\n	r.step(parallel, n, r.sum((*shard.Shard).Others), r.apply)\n",
		new:   "	r.route()\n	r.step(parallel, n, r.sum((*shard.Shard).Others), r.apply)\n	r.step(parallel, n, r.sum((*shard.Shard).Creates), r.create)\n",
		tests: tests{pkg: "world", run: "TestPortCreateThenDestroy"},
	},
	{
		name: "refresh: outcomes are told before it is done", file: "world/refresh.go",
		old: "	r.apply = func(i int) { w.shards[i].ApplyRequests() }\n", new: "	r.apply = func(i int) {\n		w.shards[i].ApplyRequests()\n		w.shards[i].Tell()\n	}\n",
		tests: tests{pkg: "world", run: "TestCompletionToldLast"},
	},
	{
		name: "refresh: who comes too late is not told", file: "world/refresh.go",
		old: "			r.lost.Decide(q.Done, shard.Gone)\n", new: "",
		tests: tests{pkg: "world", run: "TestPortOutcomes"},
	},
	{
		name: "refresh: what came after the cut is forgotten", file: "world/refresh.go",
		old: "			if !p.lane.Empty() { // sent after the cut\n				p.activate()\n			}\n", new: "",
		tests: tests{pkg: "world", run: "TestPortSent|TestPortSendsWithinRefresh"},
	},
	{
		name: "refresh: lanes are not released", file: "world/refresh.go",
		old: "	for _, l := range r.lanes {\n		l.Release()\n	}\n", new: "",
		tests: tests{pkg: "world", run: "TestPortFull"},
	},
	{
		name: "refresh: requests stay for the next one", file: "world/refresh.go",
		old: "	clear(r.others)\n	r.others = r.others[:0]\n", new: "",
		tests: tests{pkg: "world", run: "TestPort"},
	},
	{
		name: "refresh: a small step leaves out the last shard", file: "world/refresh.go",
		old: "	case work < smallStep:\n		serial(n, f)\n", new: "	case work < smallStep:\n		serial(n-1, f)\n",
		tests: tests{pkg: "world", run: "TestEntity|TestPort"},
	},
}

// portBugs are in ports and their table.
var portBugs = []bug{
	{
		name: "port: handles in hand are lost when it closes", file: "world/ports.go",
		old: "		for _, h := range p.hand {\n			o.Return(h)\n		}\n", new: "",
		tests: tests{pkg: "world", run: "TestPortHandlesReturn"},
	},
	{
		name: "port: given handles are lost when it closes", file: "world/ports.go",
		old: "		for ; p.taken < p.givenN.Load(); p.taken++ {\n			o.Return(*p.given.Pop())\n		}\n", new: "",
		tests: tests{pkg: "world", run: "TestPortGivenHandlesReturn"},
	},
	{
		name: "port: its number is given on while its lane is full", file: "world/ports.go",
		old: "		if p.lane != nil && !p.lane.Empty() {\n", new: "		if false {\n",
		tests: tests{pkg: "world", run: "TestPortSendsAndCloses|TestPortClosed"},
	},
	{
		name: "port: a bit outlives its port", file: "world/ports.go",
		old: "		p.active.And(^(uint64(1) << (p.number % 64)))\n", new: "",
		tests: tests{pkg: "world", run: "TestPortClosedWithinRefresh"},
	},
	{
		name: "port: one more than PortsMax", file: "world/ports.go",
		old: "p.number < w.options.PortsMax {", new: "p.number <= w.options.PortsMax {",
		tests: tests{pkg: "world", run: "TestPortNumbers"},
	},
	{
		name: "port: does not say that it has sent", file: "world/port.go",
		old: "	p.activate()\n	return nil\n}\n\n// finisher", new: "	return nil\n}\n\n// finisher",
		tests: tests{pkg: "world", run: "TestPortCreate"},
	},
	{
		name: "port: a request that is refused keeps the completion", file: "world/port.go",
		old: "		if c != nil {\n			c.disarm()\n		}\n", new: "",
		tests: tests{pkg: "world", run: "TestCompletion|TestPortFull"},
	},
	{
		name: "port: rejections are not counted", file: "world/sender.go",
		old: "		s.rejected++\n", new: "",
		tests: tests{pkg: "world", run: "TestPortFull"},
	},
	{
		name: "port: a full lane takes a handle all the same", file: "world/port.go",
		old:   "		err = p.room(b.bytes)\n	}\n	var h handle.Handle\n	if err == nil {\n		h, err = p.take()\n	}\n",
		new:   "		_, err = p.take()\n	}\n	if err == nil {\n		err = p.room(b.bytes)\n	}\n	var h handle.Handle\n	if err == nil {\n		h, err = p.take()\n	}\n",
		tests: tests{pkg: "world", run: "TestPort"},
	},
}
