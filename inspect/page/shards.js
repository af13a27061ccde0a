// A row for each shard: what it has, what it costs, who waits for it.
import { h, put, bar, table } from './dom.js';
import { count, time, percent, ratio } from './format.js';

function mount(main, ctx) {
	const headline = h('p', { class: 'note' });
	let busy = 1, most = 1;
	const rows = table('Shards', [
		{ name: 'Shard', by: s => s.shard, cell: (td, s) => {
			if (!td.firstChild) td.append(h('button', { type: 'button', class: 'link', title: 'Query its entities', click: () => ctx.go('query', { q: `Shard ${s.shard}` }) }, String(s.shard)));
		} },
		{ name: 'Entities', right: true, by: s => s.entities, text: s => count(s.entities) },
		{ name: 'Share of busy time', by: s => s.busy_ns, help: 'The bar is as long as the time beside that of the busiest shard.', cell: (td, s) => bar(td, s.busy_ns / most, percent(s.busy_ns / busy)) },
		{ name: 'Busy in a tick', right: true, by: s => s.busy_ns, text: s => time(s.busy_ns), help: 'over the last second' },
		{ name: 'Moved in', right: true, by: s => s.moved_in, text: s => count(s.moved_in) },
		{ name: 'Moved out', right: true, by: s => s.moved_out ?? 0, text: s => count(s.moved_out) },
		{ name: 'Waited', right: true, by: s => s.waited_ns, text: s => time(s.waited_ns), help: 'for other shards to pass a fence' },
		{ name: 'Held others up', right: true, by: s => s.held_up_ns, text: s => time(s.held_up_ns), help: 'how long others waited for this one, all of them together' },
		{ name: 'Tables', right: true, by: s => s.tables, text: s => count(s.tables) },
	], s => s.shard);
	main.append(h('h2', { class: 'hidden' }, 'Shards'), headline, rows.el);
	return {
		stats(s) {
			const of = f => s.shards.map(f), sum = all => all.reduce((a, b) => a + b, 0);
			const over = all => Math.max(...all) * all.length / sum(all);
			busy = sum(of(x => x.busy_ns)) || 1;
			most = Math.max(...of(x => x.busy_ns)) || 1;
			const time = ratio(over(of(x => x.busy_ns))), entities = ratio(over(of(x => x.entities)));
			put(headline, `Imbalance: the busiest of ${count(s.shards.length)} shards takes ${time} the mean time, the fullest has ${entities} the mean number of entities.`);
			rows.show(s.shards);
		},
	};
}

export default { title: 'Shards', mount };
