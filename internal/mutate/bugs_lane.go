package main

// laneBugs are in lanes, queues and inboxes.
var laneBugs = []bug{
	{
		name: "lane: holds one request too many", file: "shard/lane.go",
		old: "l.sent-l.applied.Load() < l.maxCount", new: "l.sent-l.applied.Load() <= l.maxCount",
		tests: tests{pkg: "shard", run: "TestLaneLimits"},
	},
	{
		name: "lane: payloads do not count", file: "shard/lane.go",
		old:   "l.sentBytes-l.appliedBytes.Load()+uint64(payload+requestBytes) <= l.maxBytes",
		new:   "l.sentBytes-l.appliedBytes.Load()+uint64(requestBytes) <= l.maxBytes",
		tests: tests{pkg: "shard", run: "TestLaneSizes"},
	},
	{
		name: "lane: bytes do not come back", file: "shard/lane.go",
		old: "	l.appliedBytes.Store(l.appliedBytes.Load() + l.bytes + count*uint64(requestBytes))\n", new: "",
		tests: tests{pkg: "shard", run: "TestLaneLimits"},
	},
	{
		name: "lane: room comes back when a request is taken", file: "shard/lane.go",
		old: "	l.taken++\n	return l.requests.Pop()\n", new: "	l.taken++\n	l.applied.Store(l.taken)\n	return l.requests.Pop()\n",
		tests: tests{pkg: "shard", run: "TestLaneLimits"},
	},
	{
		name: "lane: drained past the cut", file: "shard/lane.go",
		old: "if int32(r.Epoch-cut) > 0 {", new: "if int32(r.Epoch-cut) > 1 {",
		tests: tests{pkg: "shard", run: "TestLaneCut"},
	},
	{
		name: "lane: the cut does not know that epochs wrap", file: "shard/lane.go",
		old: "if int32(r.Epoch-cut) > 0 {", new: "if r.Epoch > cut {",
		tests: tests{pkg: "shard", run: "TestLaneCut"},
	},
	{
		name: "lane: published before the request is there", file: "shard/lane.go",
		old:   "	*l.requests.Push() = r\n	l.sent++\n",
		new:   "	l.sent++\n	l.published.Store(l.sent)\n	*l.requests.Push() = r\n",
		tests: tests{pkg: "shard", run: "TestLaneStress", race: true},
	},
	{
		name: "lane: streams are not released", file: "shard/lane.go",
		old: "		s.Release()\n	}\n	clear(l.streams)", new: "		_ = s\n	}\n	clear(l.streams)",
		tests: tests{pkg: "shard", run: "TestLaneLimits"},
	},
	{
		name: "queue: a ring is left before it is empty", file: "shard/queue.go",
		old: "n != nil && r.end == q.got; n", new: "n != nil; n",
		tests: tests{pkg: "shard", run: "TestQueueAgainstModel"},
	},
	{
		name: "queue: a full ring is overwritten", file: "shard/queue.go",
		old: "q.put-r.head.Load() == uint32(len(r.buf))", new: "q.put-r.head.Load() == uint32(2*len(r.buf))",
		tests: tests{pkg: "shard", run: "TestQueueAgainstModel"},
	},
	{
		name: "queue: taken elements are kept alive", file: "shard/queue.go",
		old: "			clear(r.buf[i&uint32(len(r.buf)-1):][:1])\n", new: "",
		tests: tests{pkg: "shard", run: "TestQueueForgets"},
	},
	{
		name: "inbox: who asked for the dying is told that it did", file: "shard/inbox.go",
		old: "if l == 0 || s.space.Marked(l) {", new: "if l == 0 {",
		tests: tests{pkg: "shard", run: "TestInbox"},
	},
	{
		name: "inbox: a create that is refused keeps its handle", file: "shard/inbox.go",
		old: "			s.exiled = append(s.exiled, r.Handle)\n", new: "",
		tests: tests{pkg: "shard", run: "TestInbox"},
	},
	{
		name: "inbox: outcomes are told twice", file: "shard/inbox.go",
		old: "	b.decided = b.decided[:0]\n", new: "",
		tests: tests{pkg: "shard", run: "TestInbox"},
	},
	{
		name: "inbox: requests are applied twice", file: "shard/inbox.go",
		old: "	b.others = b.others[:0]\n", new: "",
		tests: tests{pkg: "shard", run: "TestInbox"},
	},
}
