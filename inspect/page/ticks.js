// The section with the timeline of the newest traced ticks: live or held, with steps back.
import { h, put } from './dom.js';
import { count, time, clock } from './format.js';
import { timeline } from './timeline.js';

export function describe(t) {
	return `Tick ${count(t.tick)} at ${clock(t.began_ms)}: ${time(t.duration_ns)} of ${time(t.budget_ns)}${t.overrun ? ', an overrun' : ''}; critical path ${time(t.critical_ns)}`;
}

const kept = 8; // ticks

// lanesOf is how lanes begin: by shard, which shows who waits for whom, as far as there is room.
export function lanesOf(ctx) {
	const asked = ctx.params.get('lanes');
	return asked === 'worker' || asked === 'shard' ? asked : ctx.world.shards <= 16 ? 'shard' : 'worker';
}

export function ticks(ctx) {
	const lines = timeline(ctx.stats()?.systems.map(s => s.name) ?? [], ctx.closing, lanesOf(ctx), lanes => ctx.set({ lanes }));
	const title = h('p', { class: 'note' }, 'No tick has been traced yet.');
	let all = [], at = -1, held = false;
	const hold = h('button', { type: 'button', 'aria-pressed': 'false', click: () => keep(!held) }, 'Hold still');
	const step = by => () => { keep(true); if (all.length) show(Math.min(all.length - 1, Math.max(0, at + by))); };
	const older = h('button', { type: 'button', click: step(-1) }, '◀ Older'), newer = h('button', { type: 'button', click: step(1) }, 'Newer ▶');
	function keep(yes) { held = yes; hold.setAttribute('aria-pressed', String(yes)); }
	function show(i) {
		at = i;
		put(title, `${describe(all[i])}. ${i + 1} of the last ${all.length}.`);
		lines.show(all[i]);
	}
	ctx.every(500, async () => {
		if (held && all.length) return;
		const newest = all.at(-1)?.tick ?? -1, { ticks } = await ctx.get('api/ticks', newest < 0 ? null : { after: newest });
		const more = (ticks ?? []).filter(t => t.tick > newest).sort((a, b) => a.tick - b.tick);
		if ((held && all.length) || !more.length) return;
		all = [...all, ...more].slice(-kept);
		show(all.length - 1);
	});
	return h('section', {}, h('h3', {}, 'The newest tick'), h('div', { class: 'row' }, hold, older, newer, lines.controls), title, lines.el);
}
