package main

// laneBugs are in lanes, queues and inboxes.
var laneBugs = []bug{
	{
		name: "lane: holds one request too many", file: "shard/lane.go",
		old: "uint64(l.sent-l.applied.Load())+uint64(n) <= uint64(l.maxCount)", new: "uint64(l.sent-l.applied.Load())+uint64(n) <= uint64(l.maxCount)+1",
		tests: tests{pkg: "shard", run: "TestLaneLimits"},
	},
	{
		name: "lane: payloads do not count", file: "shard/lane.go",
		old: "uint64(l.weight-l.appliedWeight.Load())+uint64(n)*uint64(weight) <=", new: "uint64(l.weight-l.appliedWeight.Load())+uint64(n) <=",
		tests: tests{pkg: "shard", run: "TestLaneSizes"},
	},
	{
		name: "lane: bytes do not come back", file: "shard/lane.go",
		old: "	l.appliedWeight.Store(l.takenWeight)\n", new: "",
		tests: tests{pkg: "shard", run: "TestLaneLimits|TestLaneSizes"},
	},
	{
		name: "lane: room comes back when a request is taken", file: "shard/lane.go",
		old: "	l.taken, l.takenWeight = taken, weight\n", new: "	l.taken, l.takenWeight = taken, weight\n	l.applied.Store(taken)\n",
		tests: tests{pkg: "shard", run: "TestLaneLimits"},
	},
	{
		name: "lane: drained past the cut", file: "shard/lane.go",
		old: "int32(r.mark-cut) > 0", new: "int32(r.mark-cut) > 1",
		tests: tests{pkg: "shard", run: "TestLaneCut"},
	},
	{
		name: "lane: the cut does not know that epochs wrap", file: "shard/lane.go",
		old: "int32(r.mark-cut) > 0", new: "r.mark > cut",
		tests: tests{pkg: "shard", run: "TestLaneCut"},
	},
	{
		name: "lane: published before the request is there", file: "shard/lane.go",
		old: "	r := q.buf[at].head()\n	l.records.put += units\n", new: "	r := q.buf[at].head()\n	l.published.Store(l.sent + 1)\n	l.records.put += units\n",
		tests: tests{pkg: "shard", run: "TestLaneStress", race: true},
	},
	{
		name: "lane: streams are not released", file: "shard/lane.go",
		old: "	l.eachQueue(payloads.Release)\n", new: "	l.records.Release()\n",
		tests: tests{pkg: "shard", run: "TestLane"},
	},
	{
		name: "lane: a batch is cut in two", file: "shard/lane.go",
		old: "		return joined\n", new: "		return 0\n",
		tests: tests{pkg: "shard", run: "TestLaneBatch"},
	},
	{
		name: "lane: a batch has the epoch in which it was begun", file: "shard/lane.go",
		old: "		l.batch.first.mark = epoch\n", new: "		_ = epoch\n",
		tests: tests{pkg: "shard", run: "TestLaneBatch"},
	},
	{
		name: "lane: what was taken back still counts", file: "shard/lane.go",
		old: "	l.sent, l.weight = l.batch.sent, l.batch.weight\n", new: "	l.sent = l.batch.sent\n",
		tests: tests{pkg: "shard", run: "TestLaneRollback"},
	},
	{
		name: "lane: a skip is read as a request", file: "shard/records.go",
		old: "return q.got == q.stop || r.kind == skipKind", new: "return q.got == q.stop",
		tests: tests{pkg: "shard", run: "TestLane"},
	},
	{
		name: "queue: a ring is left before it is empty", file: "shard/queue.go",
		old: "n != nil && r.end.Load() == q.got; n", new: "n != nil; n",
		tests: tests{pkg: "shard", run: "TestQueueAgainstModel"},
	},
	{
		name: "queue: a full ring is overwritten", file: "shard/queue.go",
		old: "q.put-r.head.Load() == uint32(len(r.buf))", new: "q.put-r.head.Load() == uint32(2*len(r.buf))",
		tests: tests{pkg: "shard", run: "TestQueueAgainstModel"},
	},
	{
		name: "queue: taken elements are kept alive", file: "shard/queue.go",
		old: "	if q.pointers {\n		for i := head; i != q.got; i++ {\n			clear(r.buf[i&uint32(len(r.buf)-1):][:1])\n		}\n	}\n	r.head", new: "	r.head",
		tests: tests{pkg: "shard", run: "TestQueueForgets"},
	},
	{
		name: "requests: who asked for the dying is told that it did", file: "shard/routed.go",
		old: "	case c.marked(l.Row()):\n		return Gone\n", new: "",
		tests: tests{pkg: "shard", run: "TestRouted"},
	},
	{
		name: "requests: a create that is refused keeps its handle", file: "shard/routed.go",
		old: "		s.exile(r.Handle)\n", new: "",
		tests: tests{pkg: "shard", run: "TestRouted"},
	},
	{
		name: "requests: outcomes are told twice", file: "shard/lane.go",
		old: "	clear(l.told)\n	l.told = l.told[:0]\n", new: "",
		tests: tests{pkg: "shard", run: "TestLaneTells"},
	},
	{
		name: "requests: applied twice", file: "world/share.go",
		old: "		*to = (*to)[:0]\n", new: "",
		tests: tests{pkg: "world", run: "TestPort"},
	},
	{
		name: "requests: a create that is cancelled comes alive", file: "shard/routed.go",
		old: " && !s.space.Marked(slot.loc) {", new: " {",
		tests: tests{pkg: "shard", run: "TestRouted"},
	},
}
