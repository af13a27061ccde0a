package main

// schedulerBugs are in the running of systems.
var schedulerBugs = []bug{
	{
		name: "fence: skipped", file: "scheduler/program.go",
		old: "			if t.closed(s) != ready {", new: "			if false {",
		tests: tests{pkg: "scheduler", run: "TestFence"},
	},
	{
		name: "fence: one shard too early", file: "scheduler/program.go",
		old: "t.fences[fence].left.Load() > 0 {", new: "t.fences[fence].left.Load() > 1 {",
		tests: tests{pkg: "scheduler", run: "TestFence"},
	},
	{
		name: "fence: writers do not wait for readers", file: "scheduler/fence.go",
		old: "			add(c.b, c.a)\n", new: "",
		tests: tests{pkg: "scheduler", run: "TestFence"},
	},
	{
		name: "fence: readers do not wait for writers", file: "scheduler/fence.go",
		old: "			add(c.a, c.b)\n", new: "",
		tests: tests{pkg: "scheduler", run: "TestFence"},
	},
	{
		name: "fence: neighbours are not waited for", file: "scheduler/compile.go",
		old: "		if writesFirst {", new: "		if writesFirst && !f.near {",
		tests: tests{pkg: "scheduler", run: "TestNear"},
	},
	{
		name: "fence: neighbours are waited for one system too short", file: "scheduler/program.go",
		old: "progress.Load() <= n.after {", new: "progress.Load() < n.after {",
		tests: tests{pkg: "scheduler", run: "TestNear"},
	},
	{
		name: "plan: a system may read abroad what it writes", file: "scheduler/system.go",
		old: "both.Len() > 0 && !s.global {", new: "both.Len() > 1 && !s.global {",
		tests: tests{pkg: "scheduler", run: "TestPlanRejects"},
	},
	{
		name: "tick: a shard runs a system twice", file: "scheduler/program.go",
		old: "				s.run(c)\n			}\n			c.Returned()", new: "				s.run(c)\n				s.run(c)\n			}\n			c.Returned()",
		tests: tests{pkg: "scheduler", run: "TestStepRunsEachSystemOnce"},
	},
	{
		name: "tick: two workers on one shard", file: "scheduler/worker.go",
		old: "	return t.runnable(state) && p.state.CompareAndSwap(state, claimed)\n", new: "	if !t.runnable(state) {\n		return false\n	}\n	p.state.Store(claimed)\n	return true\n",
		tests: tests{pkg: "scheduler", run: "TestStep|TestSameWorld", race: true},
	},
	{
		name: "tick: a step of the refresh ends before its work", file: "scheduler/job.go",
		old: "for int(j.done.Load()) < n {", new: "for int(j.taken.Load()) < n {",
		tests: tests{pkg: "scheduler", run: "TestSameWorld|TestStep", race: true},
	},
	{
		name: "tick: a panic is swallowed", file: "scheduler/program.go",
		old: "	p.errs = append(p.errs, &", new: "	_ = append(p.errs, &",
		tests: tests{pkg: "scheduler", run: "TestPanic"},
	},
	{
		name: "tick: a panic is told again in the next tick", file: "scheduler/step.go",
		old: "		p.errs = nil\n", new: "",
		tests: tests{pkg: "scheduler", run: "TestPanic"},
	},
	{
		name: "tick: who panics once never runs again on that shard", file: "scheduler/program.go",
		old: "	if s.system.policy == DisableOnShard {", new: "	if s.system != nil {",
		tests: tests{pkg: "scheduler", run: "TestPolicy|TestPanic"},
	},
	{
		name: "tick: systems run that are not due", file: "scheduler/program.go",
		old: "if t.due[s.at] && !s.off {", new: "if !s.off {",
		tests: tests{pkg: "scheduler", run: "TestEvery|TestEnable"},
	},
	{
		name: "tick: a worker that ends is not replaced", file: "scheduler/worker.go",
		old: "			} else {\n				go w.start()\n", new: "			} else {\n				t.helpers.Done()\n",
		tests: tests{pkg: "scheduler", run: "TestGoexit"},
	},
	{
		name: "tick: goroutines are left behind", file: "scheduler/tick.go",
		old: "	t.helpers.Wait()\n", new: "",
		tests: tests{pkg: "scheduler", run: "TestStep"},
	},
	{
		name: "tick: who sleeps is not woken at the end", file: "scheduler/tick.go",
		old: "	t.over.Store(true)\n	t.gate.open()\n", new: "	t.over.Store(true)\n",
		tests: tests{pkg: "scheduler", run: "TestStep"},
	},
	{
		name: "tick: the refresh is told of none of the systems' loops", file: "world/tick.go",
		old: "		t.w.loop = max(t.w.loop, s.Loop)\n", new: "		_ = s\n",
		tests: tests{pkg: "world", run: "TestLoop"},
	},
	{
		name: "run: ticks are never given up", file: "scheduler/run.go",
		old: "if behind <= time.Duration(s.options.CatchUpMax)*interval {", new: "if interval > 0 {",
		tests: tests{pkg: "scheduler", run: "TestRunSkips|TestOverrun"},
	},
	{
		name: "run: an error is not returned", file: "scheduler/run.go",
		old: "err := s.step(ctx); s.ends(err) {", new: "err := s.step(ctx); s.ends(err) && r.Tick > 1<<40 {",
		tests: tests{pkg: "scheduler", run: "TestRunReturnsErrors"},
	},
}
