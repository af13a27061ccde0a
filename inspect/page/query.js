// Entities by a query, as a table that is read page by page.
import { h, put, field, select, table } from './dom.js';
import { count, value } from './format.js';
import { named, numbers, quoted } from './fields.js';

const help = [
	['Position', 'has the component'], ['!Dead', 'does not have it'],
	['Health.HP < 20', 'compares a field; also <= > >= == !=, with numbers, true, false and "text"'],
	['Flag 3', 'has the flag; !Flag 3: has it not'], ['Shard 2', 'is in this shard'], ['Handle 3:1047@5', 'is this entity'],
];

const limit = 50, orderedMax = 200; // rows of a page, and of the first in an order, which has no pages

function mount(main, ctx) {
	let order = ctx.params.get('order') ?? '', down = ctx.params.get('down') === '1', total = ctx.params.get('total') ?? '';
	let q = ctx.params.get('q') ?? '', starts = [''], at = 0, turn = 0, next = '', known = '', rows = null;
	const input = h('input', {
		type: 'search', id: 'query', class: 'code', value: q, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off',
		placeholder: 'Position, Health.HP < 20, !Dead', 'aria-describedby': 'query-wrong query-count',
	});
	const wrong = h('div', { id: 'query-wrong', role: 'alert' }), counted = h('p', { class: 'note', id: 'query-count', role: 'status' });
	const some = ctx.world.components.filter(c => c.framed && !c.name.includes(',')).slice(0, 4).map(c => c.name).join(); // what all entities are shown with
	const results = h('div');
	const page = (name, to) => h('button', { type: 'button', click: () => { at = to(); run(); } }, name);
	const first = page('First page', () => 0), before = page('Before', () => at - 1), after = page('Next', () => { starts[at + 1] = next; return at + 1; });
	const pages = h('div', { class: 'row' }, first, before, after), sums = h('p', { class: 'note', role: 'status' });
	const totals = field('Totals of', select([['', 'nothing'], ...numbers(ctx.world).map(f => [f.name, f.name])], total, name => { total = name; keep(); run(); }));
	// fields are those that the server can order by, as columns are called.
	const fields = new Map(ctx.world.components.filter(c => c.framed).flatMap(c => c.fields.map(f => [f.path ? `${c.name}.${f.path}` : c.name, { name: named(c.name, f.path), ...f }])));
	const add = name => h('button', { type: 'button', class: 'link code', click: () => {
		input.value = [input.value.trim().replace(/,$/, ''), quoted(name)].filter(Boolean).join(', ');
		input.focus();
	} }, name);
	const names = ctx.world.components.map(c => c.framed ? add(c.name) : h('span', { class: 'note', title: c.why_not }, `${c.name} (not in frames)`));
	main.append(h('h2', { class: 'hidden' }, 'Query'),
		h('form', { class: 'row', role: 'search', submit: e => { e.preventDefault(); ask(input.value.trim()); } },
			h('span', { class: 'field wide' }, h('label', { for: 'query' }, 'Entities with'), input), h('button', { type: 'submit' }, 'Run')),
		wrong,
		h('details', {}, h('summary', {}, 'How to ask'),
			h('p', {}, 'Terms with commas between them; an entity must fit all of them. Nothing asks for all entities. ',
				'Names with other signs than letters, digits, _ . and - stand in backquotes.'),
			h('dl', { class: 'figures' }, ...help.map(([term, what]) => h('div', {}, h('dt', { class: 'code' }, term), what))),
			h('p', { class: 'row' }, 'Components: ', ...names)),
		h('div', { class: 'row' }, counted, pages, totals), sums, results);

	const keep = () => ctx.set({ q, order, down: order && down ? '1' : '', total });
	function ask(text) {
		[q, starts, at] = [text, [''], 0];
		keep();
		run();
	}
	// sort orders by a field, the greatest number first, and then the other way round; '' is the order of handles.
	function sort(name, numeric) {
		[order, down, starts, at] = [name, name === order ? !down : numeric, [''], 0];
		keep();
		run();
	}
	async function run() {
		input.setAttribute('aria-invalid', 'false');
		const mine = ++turn;
		let found;
		try {
			found = await ctx.get('api/query', {
				q, limit: order ? orderedMax : limit, ...order && { order, down: Number(down) }, ...total && { total }, ...starts[at] && { after: starts[at] }, ...!q && some && { show: some },
			});
		} catch (e) { return mine === turn ? refused(e) : null; }
		if (mine !== turn) return;
		wrong.replaceChildren();
		next = found.next;
		put(counted, `${count(found.count)} entities at tick ${count(found.tick)}` + (!found.rows.length ? ''
			: !order ? `; from ${count(at * limit + 1)} to ${count(at * limit + found.rows.length)}`
				: `; ${found.more ? `the first ${count(found.rows.length)}` : 'all'} by ${order}, ${down ? 'the greatest' : 'the least'} first`));
		put(sums, found.totals.map(t => `${t.field}: ${count(t.count)} values` + (t.count ? `, sum ${value(t.sum)}, mean ${value(t.sum / t.count)}, from ${value(t.min)} to ${value(t.max)}` : '')).join());
		paged(at > 0, !!next);
		show(found.rows);
	}
	// paged says which other pages there are. A query that failed has none.
	function paged(earlier, later) {
		first.disabled = before.disabled = !earlier;
		after.disabled = !later;
	}
	function refused(e) {
		if (e.name === 'AbortError') return;
		paged(false, false);
		input.setAttribute('aria-invalid', 'true');
		const parts = [h('p', { class: 'bad' }, e.message)];
		if (e.at) {
			const letters = [...q], i = Math.min(e.at - 1, letters.length);
			parts.push(h('pre', {}, letters.slice(0, i).join(''), h('mark', { title: `column ${e.at}` }, letters[i] ?? ' '), letters.slice(i + 1).join('')));
			if (document.activeElement === input) input.setSelectionRange(letters.slice(0, i).join('').length, q.length);
		}
		wrong.replaceChildren(...parts);
	}
	// show makes the table anew where the rows have other columns.
	function show(all) {
		const columns = new Map();
		for (const row of all) for (const [name, v] of Object.entries(row.components ?? {})) {
			const parts = v && typeof v === 'object' && !Array.isArray(v) ? Object.keys(v) : [''];
			for (const part of parts) if (columns.size < 40) columns.set(part ? `${name}.${part}` : name, row => part ? row.components?.[name]?.[part] : row.components?.[name]);
		}
		const hasNames = all.some(r => r.names?.length), names = [hasNames, ...columns.keys()].join();
		if (!rows || names !== known) {
			known = names;
			const focused = results.contains(document.activeElement) && document.activeElement.closest('th')?.textContent;
			rows = table('Entities', [
				{ name: 'Entity', ask: () => sort('', false), order: () => order ? 'none' : 'ascending', cell: (td, r) => {
					if (!td.firstChild) td.append(h('button', { type: 'button', class: 'link code', click: () => ctx.open(r.handle) }, r.handle));
				} },
				...hasNames ? [{ name: 'Name', text: r => r.names.map(n => n.name).join(', ') }] : [],
				{ name: 'Shard', right: true, text: r => r.shard },
				{ name: 'Flags', text: r => (r.flags ?? []).join(' ') },
				...[...columns].map(([name, of]) => {
					const f = fields.get(name);
					return {
						name, right: all.some(r => typeof of(r) === 'number'), text: r => of(r) === undefined ? '' : value(of(r)),
						...f && { ask: () => sort(f.name, f.numeric), order: () => order !== f.name ? 'none' : down ? 'descending' : 'ascending' },
					};
				}),
			], r => r.handle);
			results.replaceChildren(rows.el);
			if (focused) [...results.querySelectorAll('th button')].find(b => b.textContent === focused)?.focus();
		}
		rows.show(all);
		rows.el.scrollTop = 0;
	}
	paged(false, false);
	run();
}

export default { title: 'Query', mount };
