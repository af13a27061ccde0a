// The plan of a tick: systems by stage, what they cost, who waits for whom and why; and the controls
// of the ticks.
import { h, put, bar, field, table } from './dom.js';
import { count, time, percent } from './format.js';
import { note } from './control.js';

const words = s => [
	s.global && 'global', s.merge && 'merge', s.every > 1 && `each ${s.every}th tick${s.offset ? ` from ${s.offset}` : ''}`,
	s.conditions > 0 && `${s.conditions} condition${s.conditions > 1 ? 's' : ''}`,
	s.after?.length && `after ${s.after.join(', ')}`, s.before?.length && `before ${s.before.join(', ')}`,
].filter(Boolean).join('; ');
const fence = f => `waits until ${f.near ? 'the neighbour shards' : 'all shards'} have passed ${f.after} (${
	(f.reasons ?? []).map(r => `${r.name}: ${r.first}, then ${r.then}`).join('; ')})`;

function mount(main, ctx) {
	const { world } = ctx;
	let plan = null, open = ctx.params.get('system') ?? '', fences = new Map(), known = '', tables = [];
	const ticks = h('input', { type: 'number', min: '1', max: '1000', value: '1', id: 'step-ticks' });
	const done = answer => ctx.say(answer.paused ? `Paused at tick ${count(answer.tick)}.` : `Running; tick ${count(answer.tick)}.`);
	const act = (name, path, ask, then) => ctx.control(world, name, path, ask, then ?? done);
	const body = h('div', { class: 'plan' }), shards = h('section', { 'aria-live': 'off' });
	const now = h('p', { class: 'note' });
	main.append(h('h2', { class: 'hidden' }, 'Systems'),
		h('div', { class: 'row' }, act('Pause', 'api/pause', () => ({})), act('Resume', 'api/resume', () => ({})),
			act('Step', 'api/step', () => ({ ticks: Math.max(1, Number(ticks.value) || 1) })), field('ticks', ticks)),
		...[note(world)].filter(Boolean), now, body, shards);

	const columns = [
		{ name: 'System', by: s => s.name, cell: (td, s) => {
			if (!td.firstChild) td.append(h('button', { type: 'button', class: 'link', title: 'Show it by shard', click: () => {
				open = open === s.name ? '' : s.name;
				ctx.set({ system: open });
				shards.replaceChildren();
				detail().then(() => open && title.focus());
			} }, s.name), h('div', { class: 'note' }));
			td.parentNode.classList.toggle('off', !s.enabled);
			put(td.lastChild, [words(s.plan ?? s), ...(fences.get(s.name) ?? []).map(fence), s.panics && `panics: ${count(s.panics)}`].filter(Boolean).join('. '));
		} },
		{ name: 'Share of time', by: s => s.share, cell: (td, s) => bar(td, s.share, percent(s.share)) },
		{ name: 'p50', right: true, by: s => s.p50_ns, text: s => time(s.p50_ns) },
		{ name: 'p99', right: true, by: s => s.p99_ns, text: s => time(s.p99_ns) },
		{ name: 'Longest', right: true, by: s => s.max_ns, text: s => time(s.max_ns) },
		{ name: 'Waited', right: true, by: s => s.waited_ns, text: s => time(s.waited_ns), help: 'at fences, all shards together, in a tick of the last 10 seconds' },
		{ name: 'Control', cell: (td, s) => {
			if (s.plan?.merge) return; // it goes with the accumulator
			if (!td.firstChild) td.append(act('', 'api/systems', () => ({ name: s.name, enabled: !td.enabled }), a => {
				ctx.say(`${s.name} is ${a.enabled ? 'enabled' : 'disabled'}.`);
				load();
			}));
			td.enabled = s.enabled;
			put(td.firstChild, s.enabled ? 'Disable' : 'Enable');
			td.firstChild.setAttribute('aria-label', `${s.enabled ? 'Disable' : 'Enable'} ${s.name}`);
		} },
	];
	const steps = table('Steps of the refresh', [{ name: 'Step', by: s => s.name, text: s => s.name }, ...columns.filter(c => ['p50', 'p99', 'Longest'].includes(c.name))], s => s.name);
	const load = ctx.every(10_000, async () => {
		plan = await ctx.get('api/plan');
		fences = Map.groupBy(plan.fences ?? [], f => f.system);
		if (ctx.stats()) show(ctx.stats());
	});

	// show makes a table for each stage, in the order of the plan.
	function show(s) {
		put(now, `${s.paused ? 'Paused at' : 'Running;'} tick ${count(s.tick)}. ${count(s.systems.length)} systems, ${count(plan?.fences?.length ?? 0)} fences.`);
		const planned = new Map((plan?.systems ?? []).map(p => [p.name, p]));
		const stages = Map.groupBy(s.systems.map(x => ({ ...x, plan: planned.get(x.name) })), x => String(x.stage));
		const names = [...stages.keys()].join();
		if (names !== known) {
			known = names;
			tables = [...stages.keys()].map(stage => ({ stage, table: table(`Systems of the stage ${stage}`, columns, x => x.name) }));
			body.replaceChildren(...tables.flatMap(t => [h('h3', {}, `Stage ${t.stage}`), t.table.el]), h('h3', {}, 'Refresh'), steps.el);
		}
		for (const t of tables) t.table.show(stages.get(t.stage));
		steps.show((s.steps ?? []).filter(x => x.runs > 0));
	}

	// detail shows the open system by shard. Only it asks for that: it is much where there are many shards.
	const byShard = table('The system by shard', [
		{ name: 'Shard', right: true, by: s => s.shard, text: s => s.shard },
		{ name: 'Runs', right: true, by: s => s.runs, text: s => count(s.runs) },
		{ name: 'Last', right: true, by: s => s.last_ns, text: s => time(s.last_ns) },
		{ name: 'Longest', right: true, by: s => s.max_ns, text: s => time(s.max_ns) },
		{ name: 'Total', right: true, by: s => s.total_ns, text: s => time(s.total_ns) },
		{ name: 'Waited', right: true, by: s => s.waited_ns, text: s => time(s.waited_ns) },
		{ name: 'Held others up', right: true, by: s => s.held_up_ns, text: s => time(s.held_up_ns) },
		{ name: 'State', text: s => s.off ? 'off after a panic' : 'on' },
	], s => s.shard);
	const title = h('h3', { tabindex: '-1' });
	const detail = ctx.every(2000, async () => {
		if (!open) return shards.replaceChildren();
		const one = (await ctx.get('api/stats')).systems.find(s => s.name === open);
		if (!open || !one) return shards.replaceChildren();
		put(title, `${open} by shard, since the start`);
		if (!shards.firstChild) shards.append(title, byShard.el);
		byShard.show(one.shards ?? []);
	});
	return { stats: s => { if (plan) show(s); } };
}

export default { title: 'Systems', mount };
