// A row for each shard: what it has, what it costs, who waits for it.
import { h, put, bar, table } from './dom.js';
import { count, none, time, percent, ratio } from './format.js';

const matrixMax = 16; // shards of which all pairs are shown; of more, those that waited longest
const pairsMax = 20;
const name = i => i < 0 ? 'global' : String(i);

// matrix shows how long each shard waited for each other one.
function matrix(n) {
	const all = [...Array(n).keys(), -1], cells = new Map();
	const rows = all.map(i => h('tr', {}, h('th', { scope: 'row' }, name(i)), ...all.map(k => {
		const td = h('td', { class: 'right' }, i === k ? '' : none);
		if (i !== k) cells.set(`${i} ${k}`, td);
		return td;
	})));
	const el = h('div', { class: 'scroll matrix', role: 'region', 'aria-label': 'Who waited for whom', tabindex: '0' },
		h('table', {}, h('caption', { class: 'hidden' }, 'Who waited for whom: a row for each that waited, a column for each that was waited for'),
			h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Waited \\ for'), ...all.map(i => h('th', { scope: 'col', class: 'right' }, name(i))))),
			h('tbody', {}, ...rows)));
	return { el, show(waits) {
		const now = new Map(waits.map(w => [`${w.shard} ${w.for}`, w.waited_ns])), most = waits[0]?.waited_ns || 1;
		for (const [pair, td] of cells) {
			put(td, now.has(pair) ? time(now.get(pair)) : none);
			td.style.setProperty('--share', `${Math.round(45 * (now.get(pair) ?? 0) / most)}%`);
		}
	} };
}

// pairs lists those that waited longest.
function pairs() {
	const rows = table('Who waited for whom', [
		{ name: 'Shard', text: w => name(w.shard) }, { name: 'Waited for', text: w => name(w.for) },
		{ name: 'In a tick', right: true, text: w => time(w.waited_ns) },
	], w => `${w.shard} ${w.for}`);
	return { el: rows.el, show: waits => rows.show(waits.slice(0, pairsMax)) };
}

function mount(main, ctx) {
	const headline = h('p', { class: 'note' });
	let busy = 1, most = 1;
	const rows = table('Shards', [
		{ name: 'Shard', by: s => s.shard, cell: (td, s) => {
			if (!td.firstChild) td.append(h('button', { type: 'button', class: 'link', title: 'Query its entities', click: () => ctx.go('query', { q: `Shard ${s.shard}` }) }, String(s.shard)));
		} },
		{ name: 'Entities', right: true, by: s => s.entities, text: s => count(s.entities) },
		{ name: 'Slots given', right: true, by: s => s.indexes, text: s => count(s.indexes), help: 'to entities that were created in the shard, wherever they are now, or used up' },
		{ name: 'Share of busy time', by: s => s.busy_ns, help: 'The bar is as long as the time beside that of the busiest shard.', cell: (td, s) => bar(td, s.busy_ns / most, percent(s.busy_ns / busy)) },
		{ name: 'Busy in a tick', right: true, by: s => s.busy_ns, text: s => time(s.busy_ns), help: 'over the last second' },
		{ name: 'Moved in', right: true, by: s => s.moved_in, text: s => count(s.moved_in) },
		{ name: 'Moved out', right: true, by: s => s.moved_out ?? 0, text: s => count(s.moved_out) },
		{ name: 'Waited', right: true, by: s => s.waited_ns, text: s => time(s.waited_ns), help: 'for other shards to pass a fence' },
		{ name: 'Held others up', right: true, by: s => s.held_up_ns, text: s => time(s.held_up_ns), help: 'how long others waited for this one, all of them together' },
		{ name: 'Tables', right: true, by: s => s.tables, text: s => count(s.tables) },
	], s => s.shard);
	const n = ctx.world.shards, waits = n <= matrixMax ? matrix(n) : pairs(), told = h('p', { class: 'note' });
	main.append(h('h2', { class: 'hidden' }, 'Shards'), headline, rows.el, h('h3', {}, 'Who waited for whom'), told, waits.el);
	return {
		stats(s) {
			const of = f => s.shards.map(f), sum = all => all.reduce((a, b) => a + b, 0);
			const over = all => Math.max(...all) * all.length / sum(all);
			busy = sum(of(x => x.busy_ns)) || 1;
			most = Math.max(...of(x => x.busy_ns)) || 1;
			const time = ratio(over(of(x => x.busy_ns))), entities = ratio(over(of(x => x.entities)));
			put(headline, `Imbalance: the busiest of ${count(s.shards.length)} shards takes ${time} the mean time, the fullest has ${entities} the mean number of entities.`);
			rows.show(s.shards);
			const list = n > matrixMax ? ` The ${pairsMax} longest:` : '';
			put(told, n > 256 ? 'It is not counted in a world of more than 256 shards.'
				: `Who stood at a fence because another was the last to pass, in a tick of the last second.${list}`);
			waits.show(s.waits);
		},
	};
}

export default { title: 'Shards', mount };
