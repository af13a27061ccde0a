package main

// schedulerBugs are in the running of systems.
var schedulerBugs = []bug{
	{
		name: "fence: skipped", file: "scheduler/program.go",
		old: "if s.fence >= 0 && t.passed[s.fence].left.Load() > 0 {", new: "if false {",
		tests: tests{pkg: "scheduler", run: "TestFence"},
	},
	{
		name: "fence: one shard too early", file: "scheduler/program.go",
		old: "t.passed[s.fence].left.Load() > 0 {", new: "t.passed[s.fence].left.Load() > 1 {",
		tests: tests{pkg: "scheduler", run: "TestFence"},
	},
	{
		name: "fence: writers do not wait for readers", file: "scheduler/system.go",
		old: "return a.Foreign.Meets(&b.Writes) || b.Foreign.Meets(&a.Writes)", new: "return a.Foreign.Meets(&b.Writes)",
		tests: tests{pkg: "scheduler", run: "TestFence"},
	},
	{
		name: "fence: readers do not wait for writers", file: "scheduler/system.go",
		old: "return a.Foreign.Meets(&b.Writes) || b.Foreign.Meets(&a.Writes)", new: "return b.Foreign.Meets(&a.Writes)",
		tests: tests{pkg: "scheduler", run: "TestFence"},
	},
	{
		name: "fence: nobody is woken when it opens", file: "scheduler/program.go",
		old: "		t.gate.raise()\n	}\n}\n\n// run runs", new: "	}\n}\n\n// run runs",
		tests: tests{pkg: "scheduler", run: "TestFence|TestStep"},
	},
	{
		name: "plan: a system may read abroad what it writes", file: "scheduler/system.go",
		old: "both.Len() > 0 {", new: "both.Len() > 1 {",
		tests: tests{pkg: "scheduler", run: "TestPlanRejects"},
	},
	{
		name: "tick: a shard runs a system twice", file: "scheduler/program.go",
		old: "	k := p.next\n	p.next++\n", new: "	k := p.next\n	if p.shard > 0 || p.next > 0 || p.errs == nil {\n		p.next++\n	}\n",
		tests: tests{pkg: "scheduler", run: "TestPanic"},
	},
	{
		name: "tick: two workers on one shard", file: "scheduler/tick.go",
		old: "if p.claimed.Load() || !p.claimed.CompareAndSwap(false, true) {", new: "if p.claimed.Load() {",
		tests: tests{pkg: "scheduler", run: "TestStep|TestSameWorld", race: true},
	},
	{
		name: "tick: a step of the refresh ends before its work", file: "scheduler/tick.go",
		old: "		if int(j.done.Load()) == n {\n			return", new: "		if int(j.taken.Load()) >= n {\n			return",
		tests: tests{pkg: "scheduler", run: "TestSameWorld|TestStep", race: true},
	},
	{
		name: "tick: a panic is swallowed", file: "scheduler/program.go",
		old: "			p.errs = append(p.errs,", new: "			_ = append(p.errs,",
		tests: tests{pkg: "scheduler", run: "TestPanic"},
	},
	{
		name: "tick: a panic is told again in the next tick", file: "scheduler/scheduler.go",
		old: "		p.errs = nil\n", new: "",
		tests: tests{pkg: "scheduler", run: "TestPanic"},
	},
	{
		name: "tick: a shard stops at a panic", file: "scheduler/program.go",
		old: "		t.pass(p)\n		if exits {", new: "		if v == nil {\n			t.pass(p)\n		}\n		if exits {",
		tests: tests{pkg: "scheduler", run: "TestPanic"},
	},
	{
		name: "tick: a worker that ends is not replaced", file: "scheduler/tick.go",
		old: "				go work()\n", new: "				t.workers.Done()\n",
		tests: tests{pkg: "scheduler", run: "TestGoexit"},
	},
	{
		name: "tick: goroutines are left behind", file: "scheduler/tick.go",
		old: "	t.workers.Wait()\n", new: "",
		tests: tests{pkg: "scheduler", run: "TestStep"},
	},
	{
		name: "tick: the refresh is told of none of the systems' loops", file: "world/tick.go",
		old: "		t.w.loop = max(t.w.loop, s.Loop)\n", new: "		_ = s\n",
		tests: tests{pkg: "world", run: "TestLoop"},
	},
	{
		name: "run: ticks are never given up", file: "scheduler/scheduler.go",
		old: "behind > catchUpMax*interval {", new: "false && behind > 0 {",
		tests: tests{pkg: "scheduler", run: "TestRunSkips"},
	},
	{
		name: "run: an error is not returned", file: "scheduler/scheduler.go",
		old: "		if err := s.step(); err != nil {\n			return err\n		}\n		r.Duration", new: "		_ = s.step()\n		r.Duration",
		tests: tests{pkg: "scheduler", run: "TestRunReturnsErrors"},
	},
}
