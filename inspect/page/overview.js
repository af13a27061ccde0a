// The overview: headline figures, charts, the timeline of the newest ticks.
import { h, put, choice, table } from './dom.js';
import { count, time, percent, bytes } from './format.js';
import { chart } from './chart.js';
import { ticks } from './ticks.js';

const spans = { minute: 1000, hour: 10_000, day: 60_000 }; // how often each is asked for, in milliseconds

const figures = [
	['Tick', s => count(s.tick)],
	['Entities', s => count(s.entities)],
	['p50 of ticks', s => time(s.ticks.p50_ns), 'half of the ticks of the last ten seconds took at most this'],
	['p99 of ticks', s => time(s.ticks.p99_ns), '99 of 100 ticks of the last ten seconds took at most this'],
	['p99 of budget', s => percent(s.ticks.p99_ns / s.ticks.budget_ns), 'p99 as a share of the budget that a tick has now; a rung of the ladder may make it longer'],
	['Overruns', s => count(s.ticks.overruns), 'ticks that took longer than the budget'],
	['Rung', s => count(s.rung), 'how many rungs of the ladder of overload are in force'],
	['Waiting', s => count(s.waiting), 'requests that wait for the next refresh'],
];

// more are the figures that are looked at when something is wrong.
const more = s => [
	['Ticks skipped', count(s.ticks.skipped)], ['Clock slipped', time(s.ticks.slipped_ns)], ['Longest tick', time(s.ticks.max_ns)], ['Between ticks, p99', time(s.ticks.between.p99_ns), 'what OnTick, functions of Between and captures took before a tick; it is part of the tick\'s time'], ['Panics', count(s.panics)],
	['Created', count(s.created)], ['Destroyed', count(s.destroyed)], ['Moved', count(s.moved)],
	['Requests applied', count(s.applied)], ['Requests too late', count(s.gone)], ['Requests that miss a component', count(s.missing)],
	['Requests refused at a limit', count(s.refused)], ['Requests that failed', count(s.failed)], ['Requests rejected by full queues or the ladder', count(s.rejected)],
	['Ports', count(s.ports)], ['Latency of requests, p50', time(s.latency?.p50_ns)], ['Latency of requests, p99', time(s.latency?.p99_ns)],
	['Memory used', bytes(s.bytes_used)], ['Memory reserved', bytes(s.bytes_reserved)], ['Frames held', count(s.frames)], ['Memory of frames', bytes(s.frames_bytes)],
	['Tables', count(s.tables)], ['Chunks', count(s.chunks)], ['Slots given', count(s.indexes)],
	['Slots given to ports', `${count(s.port_indexes)} of ${count(s.home_indexes)}`, 'all ports share them, and every entity that a port creates takes one'], ['Slots used up', count(s.retired)],
	...(s.others ?? []).map(o => [[o.name, ...Object.values(o.labels ?? {})].join(' '), count(o.value), o.help]),
].map(([name, text, help]) => ({ name, text, help }));

function mount(main, ctx) {
	const heads = figures.map(([name, , help]) => h('div', { title: help }, h('dt', {}, name), h('dd', {}, '–')));
	let span = spans[ctx.params.get('span')] ? ctx.params.get('span') : 'minute', asked = 0;
	const durations = chart('How long ticks take', [
		{ label: 'p50', colour: 'c0', width: 2 }, { label: 'p99', colour: 'c1', width: 2 },
		{ label: 'max', colour: 'c2', dash: [4, 3], width: 1 }, { label: 'budget', colour: 'bad', dash: [8, 4] },
	], time, ctx.closing);
	const lives = chart('Entities created and destroyed', [
		{ label: 'created', colour: 'c0', width: 2 }, { label: 'destroyed', colour: 'c1', dash: [4, 3], width: 2 },
	], n => n % 1 ? '' : count(n), ctx.closing);
	const rest = table('More figures', [
		{ name: 'Figure', cell: (td, f) => { put(td, f.name); td.title = f.help ?? ''; } },
		{ name: 'Value', right: true, text: f => f.text },
	], f => f.name);
	const sets = table('Sets of components', [
		{ name: 'Components', text: s => s.components.join(', ') || '(none)' },
		{ name: 'Entities', right: true, text: s => count(s.entities), by: s => s.entities },
	], s => s.components.join());
	const details = h('details', {}, h('summary', {}, 'More figures and sets of components'), h('div', { class: 'pair' }, rest.el, sets.el));
	main.append(
		h('h2', { class: 'hidden' }, 'Overview'), h('dl', { class: 'figures' }, ...heads),
		h('div', { class: 'row' }, choice('Time', [['minute', 'Minutes'], ['hour', 'Hour'], ['day', 'Day']], span, s => {
			[span, asked] = [s, 0];
			ctx.set({ span: s === 'minute' ? '' : s });
			history();
		})),
		h('div', { class: 'pair' },
			h('section', {}, h('h3', {}, 'How long ticks take'), durations.el),
			h('section', {}, h('h3', {}, 'Entities created and destroyed'), lives.el)),
		details);
	details.before(ticks(ctx));
	const history = ctx.every(1000, async () => {
		if (Date.now() - asked < spans[span] - 100) return;
		asked = Date.now();
		const s = await ctx.get('api/history', { span });
		if (s.span !== span || !s.t_ms.length) return;
		durations.set([s.t_ms, s.p50_ns, s.p99_ns, s.max_ns, s.budget_ns]);
		lives.set([s.t_ms, s.created, s.destroyed]);
	});
	return {
		stats(s) {
			figures.forEach(([, text], i) => put(heads[i].lastChild, text(s)));
			heads[4].classList.toggle('bad', s.ticks.p99_ns > s.ticks.budget_ns);
			if (!details.open) return;
			rest.show(more(s));
			sets.show(s.sets ?? []);
		},
	};
}

export default { title: 'Overview', mount };
