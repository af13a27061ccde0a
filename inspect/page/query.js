// Entities by a query, as a table that is read page by page.
import { h, put, table } from './dom.js';
import { count, value } from './format.js';
import { quoted } from './fields.js';

const help = [
	['Position', 'has the component'], ['!Dead', 'does not have it'],
	['Health.HP < 20', 'compares a field; also <= > >= == !=, with numbers, true, false and "text"'],
	['Flag 3', 'has the flag; !Flag 3: has it not'], ['Shard 2', 'is in this shard'], ['Handle 3:1047@5', 'is this entity'],
];

function mount(main, ctx) {
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
	const pages = h('div', { class: 'row' }, first, before, after);
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
		h('div', { class: 'row' }, counted, pages), results);

	function ask(text) {
		[q, starts, at] = [text, [''], 0];
		ctx.set({ q });
		run();
	}
	async function run() {
		input.setAttribute('aria-invalid', 'false');
		const mine = ++turn;
		let found;
		try {
			found = await ctx.get('api/query', { q, limit: 50, ...starts[at] && { after: starts[at] }, ...!q && some && { show: some } });
		} catch (e) { return mine === turn ? refused(e) : null; }
		if (mine !== turn) return;
		wrong.replaceChildren();
		next = found.next;
		put(counted, `${count(found.count)} entities at tick ${count(found.tick)}` + (found.rows.length ? `; from ${count(at * 50 + 1)} to ${count(at * 50 + found.rows.length)}` : ''));
		first.disabled = before.disabled = at === 0;
		after.disabled = !next;
		show(found.rows);
	}
	function refused(e) {
		if (e.name === 'AbortError') return;
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
		const names = [...columns.keys()].join();
		if (!rows || names !== known) {
			known = names;
			rows = table('Entities', [
				{ name: 'Entity', by: r => r.handle, cell: (td, r) => {
					if (!td.firstChild) td.append(h('button', { type: 'button', class: 'link code', click: () => ctx.open(r.handle) }, r.handle));
				} },
				{ name: 'Shard', right: true, by: r => r.shard, text: r => r.shard },
				{ name: 'Flags', by: r => (r.flags ?? []).join(), text: r => (r.flags ?? []).join(' ') },
				...[...columns].map(([name, of]) => ({
					name, by: r => of(r) ?? '', right: all.some(r => typeof of(r) === 'number'), text: r => of(r) === undefined ? '' : value(of(r)),
				})),
			], r => r.handle);
			results.replaceChildren(rows.el);
		}
		rows.show(all);
		rows.el.scrollTop = 0;
	}
	run();
}

export default { title: 'Query', mount };
