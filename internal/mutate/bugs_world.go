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
		old: "	b.access.Writes = b.access.Writes.Union(b.w.setOf(\"Build.Creates\", bundles))\n", new: "	_ = bundles\n",
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
		old: "	if p.seen != len(p.shard.Tables()) {\n		p.update(q)\n	}\n", new: "",
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
		old: "	case c.owns(l) && !c.hook:\n		c.w.space.Mark(l)\n		return nil\n", new: "	case true:\n		c.w.space.Mark(l)\n		return nil\n",
		tests: tests{pkg: "world", run: "TestSemantics"},
	},
	{
		name: "messages: delivered too early, and lost", file: "world/message.go",
		old: "	box.next = append(box.next, Envelope[M]{h,", new: "	box.now = append(box.now, Envelope[M]{h,",
		tests: tests{pkg: "world", run: "TestMessage"},
	},
	{
		name: "messages: delivered again in the next tick", file: "world/mail.go",
		old: "	b.now, b.next = b.next, b.now[:0]\n", new: "	b.now, b.next = b.next, append([]Envelope[M](nil), b.next...)\n",
		tests: tests{pkg: "world", run: "TestMessage"},
	},
	{
		name: "messages: go to the shard of the handle, not of the atom", file: "world/message.go",
		old: "box := d.m.box(s.ID())", new: "box := d.m.box(int(h.Shard()) % len(d.m.boxes))",
		tests: tests{pkg: "world", run: "TestMessage"},
	},
	{
		name: "messages: stay behind when their entity moves", file: "world/mail.go",
		old: "if to, ok := s.Leaves(e.To); ok {", new: "if to, ok := s.Leaves(e.To); ok && to < 0 {",
		tests: tests{pkg: "world", run: "TestMove|TestMessage"},
	},
	{
		name: "messages: of who moved, in the order of arrival", file: "world/mail.go",
		old: "	slices.SortFunc(came, func(a, b stray[M]) int { return cmp.Compare(a.order, b.order) })\n", new: "",
		tests: tests{pkg: "world", run: "TestMove|TestMessage"},
	},
	{
		name: "completion: one that waits may be used again", file: "world/completion.go",
		old: "	if c.settled() == armed {\n		panic(", new: "	if c.settled() == armed && c == nil {\n		panic(",
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
		old: "	r.cut = cut\n	sent, moves := r.gather(ports), 0\n	if sent > 0 || r.shifted > 0 {\n		moves = r.requests(parallel, sent)\n	}\n", new: "	r.cut = cut\n	w.epoch.Store(cut)\n	sent, moves := r.gather(ports), 0\n	if sent > 0 || r.shifted > 0 {\n		moves = r.requests(parallel, sent)\n	}\n	w.epoch.Add(1)\n",
		tests: tests{pkg: "world", run: "TestPortCut"},
	},
	{
		name: "refresh: no cut", file: "world/refresh.go",
		old: "r.cut = cut", new: "r.cut = cut + 1000",
		tests: tests{pkg: "world", run: "TestPortCut"},
	},
	{
		name: "refresh: outboxes in another order than the shards", file: "world/refresh.go",
		old: "	for _, c := range w.contexts {\n		if l :=", new: "	for i := range w.contexts {\n		c := w.contexts[len(w.contexts)-1-i]\n		if l :=",
		tests: tests{pkg: "world", run: "TestMessageOrder"},
	},
	{
		name: "refresh: ports as they came, the last first, not by number", file: "world/refresh.go",
		old: "	r.ports = w.ports.collect(r.ports)\n", new: "	r.ports = w.ports.collect(r.ports)\n	for i, k := 0, len(r.ports)-1; i < k; i, k = i+1, k-1 {\n		r.ports[i], r.ports[k] = r.ports[k], r.ports[i]\n	}\n",
		tests: tests{pkg: "world", run: "TestMessageOrder|TestPortOfTwo"},
	},
	{
		name: "refresh: the atoms of new handles are stored last", file: "world/refresh.go",
		old: "	r.step(parallel, n, created, r.create)\n	r.step(parallel, len(r.shares), waiting, r.route)\n", new: "	r.step(parallel, len(r.shares), waiting, r.route)\n	r.step(parallel, n, created, r.create)\n",
		tests: tests{pkg: "world", run: "TestPortCreateThenDestroy"},
	},
	{
		name: "refresh: outcomes are told before it is done", file: "world/refresh.go",
		old: "	doomed := r.sum((*shard.Shard).Doomed)\n", new: "	r.step(parallel, len(r.shares), sent, r.release)\n	r.step(parallel, len(r.shares), sent, r.tell)\n	doomed := r.sum((*shard.Shard).Doomed)\n",
		tests: tests{pkg: "world", run: "TestCompletionToldLast"},
	},
	{
		name: "refresh: who comes too late is not told", file: "world/share.go",
		old: "			x.lost.Decide(x.Others[x.routed], shard.Gone)\n", new: "",
		tests: tests{pkg: "world", run: "TestPortOutcomes"},
	},
	{
		name: "refresh: what came after the cut is forgotten", file: "world/share.go",
		old: "			if !from.lane.Empty() { // sent after the cut\n				p.activate()\n			}\n", new: "",
		tests: tests{pkg: "world", run: "TestPortSent|TestPortSendsWithinRefresh"},
	},
	{
		name: "refresh: lanes are not released", file: "world/share.go",
		old: "		from.lane.Release()\n", new: "",
		tests: tests{pkg: "world", run: "TestPortFull"},
	},
	{
		name: "refresh: requests stay for the next one", file: "world/share.go",
		old: "	x.Forget()\n", new: "",
		tests: tests{pkg: "world", run: "TestPort"},
	},
	{
		name: "refresh: a small step leaves out the last shard", file: "world/refresh.go",
		old: "		serial(n, f)\n	default:", new: "		serial(n-1, f)\n	default:",
		tests: tests{pkg: "world", run: "TestEntity|TestPort"},
	},
	{
		name: "refresh: shares are applied from the last to the first", file: "world/refresh.go",
		old: "		for _, x := range r.shares {\n			x.apply(w.shards[i])", new: "		for k := range r.shares {\n			x := r.shares[len(r.shares)-1-k]\n			x.apply(w.shards[i])",
		tests: tests{pkg: "world", run: "TestShares"},
	},
	{
		name: "refresh: what is created and destroyed at once is seen", file: "world/refresh.go",
		old: "r.veiled, r.calls = r.veiled || x.Cancels || x.Calls,", new: "r.veiled, r.calls = r.veiled || x.Calls,",
		tests: tests{pkg: "world", run: "TestHookEvents"},
	},
	{
		name: "refresh: what a function destroys at once is seen", file: "world/refresh.go",
		old: "r.veiled || x.Cancels || x.Calls,", new: "r.veiled || x.Cancels,",
		tests: tests{pkg: "world", run: "TestHookOfTheDestroyedByFunction"},
	},
}

// portBugs are in ports and their table.
var portBugs = []bug{
	{
		name: "close: outcomes are told before anybody has died", file: "world/close.go",
		old: "	if t.mu.over {\n", new: "	if !t.mu.over {\n",
		tests: tests{pkg: "world", run: "TestCloseTellsLast"},
	},
	{
		name: "port: handles in hand are lost when it closes", file: "world/purse.go",
		old: "	for _, h := range p.hand {\n		o.Return(h)\n	}\n", new: "",
		tests: tests{pkg: "world", run: "TestPortHandlesReturn"},
	},
	{
		name: "port: given handles are lost when it closes", file: "world/purse.go",
		old: "	p.openMail()\n	for _, h := range p.hand {", new: "	for _, h := range p.hand {",
		tests: tests{pkg: "world", run: "TestPortGivenHandlesReturn"},
	},
	{
		name: "port: its box is refilled under it as it takes", file: "world/purse.go",
		old: "box := p.mail.Swap(nil)", new: "box := p.mail.Load()",
		tests: tests{pkg: "world", run: "TestPortSupplied", long: true},
	},
	{
		name: "port: its number is given on while its lane is full", file: "world/ports.go",
		old: "		if p.lane != nil && !p.lane.Empty() {\n", new: "		if false {\n",
		tests: tests{pkg: "world", run: "TestPortSendsAndCloses|TestPortClosed"},
	},
	{
		name: "port: a bit outlives its port", file: "world/ports.go",
		old: "		p.active.And(^p.bit)\n", new: "",
		tests: tests{pkg: "world", run: "TestPortClosedWithinRefresh"},
	},
	{
		name: "port: one more than PortsMax", file: "world/ports.go",
		old: "p.number < w.options.PortsMax {", new: "p.number <= w.options.PortsMax {",
		tests: tests{pkg: "world", run: "TestPortNumbers"},
	},
	{
		name: "port: does not say that it has sent", file: "world/close.go",
		old: "	p.activate()\n	if p.w.closed.Load() {", new: "	if p.w.closed.Load() {",
		tests: tests{pkg: "world", run: "TestPortCreate"},
	},
	{
		name: "port: what is sent while the world closes is never told", file: "world/close.go",
		old: "	p.activate()\n	if p.w.closed.Load() {\n		p.w.ports.abandon(p)\n	}\n", new: "	p.activate()\n",
		tests: tests{pkg: "world", run: "TestClose"},
	},
	{
		name: "port: a request that is refused keeps the completion", file: "world/port.go",
		old: "	p.notify = nil\n	if p.batch == nil {\n		p.within = nil", new: "	if p.batch == nil {\n		p.within = nil",
		tests: tests{pkg: "world", run: "TestCompletion|TestPortFull"},
	},
	{
		name: "port: rejections are not counted", file: "world/sender.go",
		old: "	s.rejected += uint64(requests)\n", new: "",
		tests: tests{pkg: "world", run: "TestPortFull"},
	},
	{
		name: "port: a full lane takes a handle all the same", file: "world/port.go",
		old: "		if err := p.ready(1, b.creating.Weight()); err != nil {\n			return", new: "		if err := p.ready(1, b.creating.Weight()); err != nil {\n			if len(p.hand) > 0 {\n				p.take()\n			}\n			return",
		tests: tests{pkg: "world", run: "TestPort"},
	},
	{
		name: "port: who waits for room is not woken", file: "world/share.go",
		old: "			from.port.wake()\n", new: "			_ = from\n",
		tests: tests{pkg: "world", run: "TestPortWithin"},
	},
	{
		name: "batch: the handles of a refused one are lost", file: "world/port_batch.go",
		old: "	p.w.outside.Recall(b.taken...)\n", new: "",
		tests: tests{pkg: "world", run: "TestPortBatch"},
	},
	{
		name: "batch: a refused one keeps what it took of a reservation", file: "world/port_batch.go",
		old: "		c.r.unclaim(c.i)\n", new: "		_ = c\n",
		tests: tests{pkg: "world", run: "TestReservation"},
	},
	{
		name: "reservation: used handles go back, too", file: "world/reservation.go",
		old: "		if !used {\n", new: "		if !used || i >= 0 {\n",
		tests: tests{pkg: "world", run: "TestReservation"},
	},
	{
		name: "reservation: revoked handles may be used", file: "world/reservation.go",
		old: "	case r.mu.over:\n		return ErrRevoked\n", new: "",
		tests: tests{pkg: "world", run: "TestReservation"},
	},
}
