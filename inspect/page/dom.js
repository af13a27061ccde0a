// Elements, and tables whose rows stay the same elements while their values change. Data gets into
// the page as text only.

// h makes an element. Functions in props are listeners, the others attributes.
export function h(tag, props = {}, ...children) {
	const el = document.createElement(tag);
	for (const [name, value] of Object.entries(props)) {
		if (typeof value === 'function') el.addEventListener(name, value);
		else if (value === true) el.setAttribute(name, '');
		else if (value !== false && value !== null && value !== undefined) el.setAttribute(name, value);
	}
	el.append(...children.filter(c => c !== null && c !== undefined && c !== false));
	return el;
}

// put sets the text of an element where it is another one: an element that did not change is not drawn.
export function put(el, text) {
	text = String(text);
	if (el.textContent !== text) el.textContent = text;
}

// colours of the page's theme, by the names of style.css.
export const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
// palette has the 8 colours, and each of them halfway to the background: people who see few colours tell these apart by their lightness.
export function palette() {
	const parts = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)), back = parts(long(colour('back')));
	const own = Array.from({ length: 8 }, (_, i) => colour(`c${i}`));
	return [...own, ...own.map(hex => '#' + parts(hex).map((v, i) => Math.round((v + back[i]) / 2).toString(16).padStart(2, '0')).join(''))];
}
const long = hex => hex.length === 4 ? '#' + [...hex.slice(1)].map(c => c + c).join('') : hex;
// ink is black or white, whichever is easier to read on a colour such as #0072b2.
export function ink(hex) {
	const [r, g, b] = [1, 3, 5].map(i => (parseInt(hex.slice(i, i + 2), 16) / 255) ** 2.2);
	return .2126 * r + .7152 * g + .0722 * b > .18 ? '#000' : '#fff';
}
export const onTheme = f => {
	const dark = matchMedia('(prefers-color-scheme: dark)');
	dark.addEventListener('change', f);
	return () => dark.removeEventListener('change', f);
};

// field is a labelled input or select.
let fields = 0;
export function field(label, input) {
	input.id ||= `field-${++fields}`;
	return h('span', { class: 'field' }, h('label', { for: input.id }, label), input);
}

export function select(options, chosen, change) {
	const el = h('select', { change: () => change(el.value) });
	for (const [value, text] of options) el.append(h('option', { value, selected: value === chosen }, text));
	return el;
}

// choice is a group of buttons of which one is pressed.
export function choice(label, options, chosen, change) {
	const buttons = options.map(([value, text]) => h('button', { type: 'button', 'aria-pressed': String(value === chosen), click: () => {
		buttons.forEach((b, i) => b.setAttribute('aria-pressed', String(options[i][0] === value)));
		change(value);
	} }, text));
	return h('span', { class: 'choice', role: 'group', 'aria-label': label }, ...buttons);
}

// bar draws a share of 0 to 1 behind a text.
export function bar(td, share, text) {
	if (!td.firstElementChild) td.append(h('span', { class: 'bar' }, h('span')), h('span'));
	td.firstElementChild.firstElementChild.style.width = `${Math.min(100, Math.max(0, share * 100 || 0)).toFixed(1)}%`;
	put(td.lastElementChild, text);
}

// table makes a table. A column has a name and what it is for (help); text(item), or cell(td, item),
// which fills the cell; and by(item), which gives what it is sorted by, or ask(), which has others
// order the rows, and order(), which says how they are. Rows are kept by key(item).
export function table(caption, columns, key) {
	const rows = new Map(), body = h('tbody');
	let sorted = null, down = false, items = [];
	const heads = columns.map((c, i) => h('th', { scope: 'col', class: c.right ? 'right' : null, title: c.help },
		c.ask ? h('button', { type: 'button', click: c.ask }, c.name)
			: c.by ? h('button', { type: 'button', click: () => { down = sorted === i ? !down : !!c.right; sorted = i; show(items); } }, c.name) : c.name));
	const el = h('div', { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0' },
		h('table', {}, h('caption', { class: 'hidden' }, caption), h('thead', {}, h('tr', {}, ...heads)), body));
	function show(now) {
		items = now;
		let order = items;
		if (sorted !== null) {
			const by = columns[sorted].by, sign = down ? -1 : 1;
			order = [...items].sort((a, b) => { const x = by(a), y = by(b); return sign * (x < y ? -1 : x > y ? 1 : 0); });
		}
		heads.forEach((th, i) => th.setAttribute('aria-sort', columns[i].order?.() ?? (i !== sorted ? 'none' : down ? 'descending' : 'ascending')));
		const left = new Set(rows.keys());
		order.forEach((item, at) => {
			const k = key(item);
			left.delete(k);
			let row = rows.get(k);
			if (!row) rows.set(k, row = h('tr', {}, ...columns.map(c => h('td', { class: c.right ? 'right' : null }))));
			if (body.children[at] !== row) body.insertBefore(row, body.children[at] ?? null);
			columns.forEach((c, i) => c.cell ? c.cell(row.children[i], item) : put(row.children[i], c.text(item)));
		});
		for (const k of left) { rows.get(k).remove(); rows.delete(k); }
	}
	return { el, show };
}
