// A map of the entities by two of their fields. The server sends up to 4,000 points, or counts in
// cells where there are more.
import { h, put, field, select, choice, colour, palette, onTheme } from './dom.js';
import { count } from './format.js';
import { numbers, axes } from './fields.js';
import { read } from './address.js';

const left = 56, below = 18; // pixels of the axes

function mount(main, ctx) {
	const all = numbers(ctx.world), p = ctx.params, found = axes(all);
	if (!all.length) return void main.append(h('p', { class: 'note' }, 'No component that frames can hold has a field that is a number, so there is nothing to draw a map of.'));
	const has = name => all.some(f => f.name === name), of = { x: has(p.get('x')) ? p.get('x') : found[0], y: has(p.get('y')) ? p.get('y') : found[1] };
	let by = p.get('color') === 'set' ? 'set' : 'shard', where = p.get('where') ?? '', box = boxOf(p.get('box')), end = null, paused = false;
	let data = null, only = '', drag = null, due = 0, hues = palette(), timer = 0, view = [0, 0, 1, 1], known = '';
	const seen = []; // what got a colour, in the order in which it came
	const names = all.map(f => [f.name, f.name]);
	const filter = h('input', { type: 'search', value: where, class: 'code', placeholder: 'all entities', change: () => { where = filter.value.trim(); ctx.set({ where }); open(); } });
	const pause = h('button', { type: 'button', 'aria-pressed': 'false', click: () => { paused = !paused; pause.setAttribute('aria-pressed', String(paused)); open(); } }, 'Pause');
	const told = h('p', { class: 'note', 'aria-live': 'off' }, 'The map comes with the next tick.'), wrong = h('p', { class: 'bad', role: 'alert' }), legend = h('div', { class: 'legend', role: 'group', 'aria-label': 'Colours; a button shows its entities alone' });
	const canvas = h('canvas', { tabindex: '0', role: 'application', 'aria-label': 'Map. Arrow keys move it, plus and minus zoom, 0 shows all, Enter opens the entity nearest to the middle.', keydown: key,
		pointerdown: e => { drag = { x: e.clientX, y: e.clientY, view, moved: false }; canvas.setPointerCapture(e.pointerId); }, pointermove: move, pointerup: up, pointercancel: () => { drag = null; }, focus: () => draw(), blur: () => draw() });
	canvas.addEventListener('wheel', e => { e.preventDefault(); const r = canvas.getBoundingClientRect(); zoom(e.deltaY > 0 ? 1.25 : .8, e.clientX - r.left, e.clientY - r.top); }, { passive: false });
	const holder = h('div', { class: 'map' }, canvas);
	const axis = name => field(name, select(names, of[name], v => { of[name] = v; ctx.set({ [name]: v, box: '' }); box = null; open(); }));
	main.append(h('h2', { class: 'hidden' }, 'Map'),
		h('form', { class: 'row', submit: e => e.preventDefault() }, axis('x'), axis('y'),
			choice('Colour', [['shard', 'By shard'], ['set', 'By components']], by, v => { by = v; only = ''; ctx.set({ color: v === 'shard' ? '' : v }); open(); }),
			h('span', { class: 'field wide' }, field('Where', filter)), pause,
			h('button', { type: 'button', 'aria-label': 'Zoom in', click: () => zoom(.6) }, '+'), h('button', { type: 'button', 'aria-label': 'Zoom out', click: () => zoom(1 / .6) }, '−'), h('button', { type: 'button', click: whole }, 'All')),
		wrong, told, holder, legend);

	function boxOf(text) {
		const b = (text ?? '').split(',').map(Number);
		return b.length === 4 && b.every(isFinite) && b[0] < b[2] && b[1] < b[3] ? b : null;
	}
	const asked = box => ({ x: of.x, y: of.y, color: by, cells: 200, ...where && { where }, ...box && { box: box.join() } });
	// open asks for the map as it is chosen now, once or for good.
	function open() {
		end?.();
		end = null;
		clearTimeout(timer);
		timer = setTimeout(() => {
			put(wrong, '');
			const bad = e => put(wrong, e.message);
			if (paused) ctx.get('api/map', asked(box)).then(take, bad);
			else end = ctx.stream('api/map/stream', asked(box), { event: (name, map) => { if (name === 'map') take(map); else if (name === 'failed') put(wrong, map.error); }, refused: bad });
		}, data ? 200 : 0);
	}
	function take(map) {
		data = map;
		put(wrong, '');
		if (!drag) view = box ?? fit(map.box);
		const kind = map.binned ? `counted in ${count(map.cells.nx)} × ${count(map.cells.ny)} cells, as there are more than 4,000; zoom in to see each` : 'each drawn';
		put(told, `${count(map.all)} entities match, ${count(map.shown)} of them here, ${kind}. Tick ${count(map.tick)}.`);
		const labels = map.legend.map(l => l.label + l.n).join();
		if (labels !== known) { known = labels; explain(); }
		draw();
	}
	// fit widens a box to the shape of the canvas, where both axes have one measure, and leaves room for
	// the axes.
	function fit([x0, y0, x1, y1]) {
		if (!(x1 > x0)) [x0, x1] = [x0 - 1, x0 + 1];
		if (!(y1 > y0)) [y0, y1] = [y0 - 1, y0 + 1];
		const w = Math.max(1, canvas.clientWidth - left), tall = Math.max(1, canvas.clientHeight - below);
		let wide = (x1 - x0) * 1.04 / w, high = (y1 - y0) * 1.04 / tall; // of a pixel
		const [x, y] = ['x', 'y'].map(a => all.find(f => f.name === of[a]));
		if (x.component === y.component) wide = high = Math.max(wide, high);
		const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
		return [cx - wide * (w / 2 + left), cy - high * (tall / 2 + below), cx + wide * w / 2, cy + high * tall / 2];
	}
	// hueOf is the colour of a line of the legend. Lines come in the order of their numbers, which
	// change: a colour goes by what the line stands for.
	function hueOf(label) {
		if (label === 'others') return colour('soft');
		const shard = ctx.world.shards <= hues.length && /^shard (\d+)$/.exec(label);
		if (!shard && !seen.includes(label)) seen.push(label);
		return hues[(shard ? Number(shard[1]) : seen.indexOf(label)) % hues.length];
	}
	function explain() {
		const shown = [...data.legend].sort((a, b) => b.n - a.n).slice(0, 24);
		legend.replaceChildren(...shown.map(l => {
			const key = h('i'); key.style.background = hueOf(l.label);
			return h('button', { type: 'button', 'aria-pressed': String(only === l.label), click: () => { only = only === l.label ? '' : l.label; explain(); draw(); legend.children[shown.indexOf(l)].focus(); } }, key, `${l.label}: ${count(l.n)}`);
		}), ...data.legend.length > shown.length ? [h('span', {}, `and ${count(data.legend.length - shown.length)} more`)] : []);
	}
	const sx = x => (x - view[0]) / (view[2] - view[0]) * canvas.clientWidth, sy = y => canvas.clientHeight - (y - view[1]) / (view[3] - view[1]) * canvas.clientHeight;
	const place = (px, py) => [view[0] + px / canvas.clientWidth * (view[2] - view[0]), view[1] + (canvas.clientHeight - py) / canvas.clientHeight * (view[3] - view[1])];

	function draw() { due ||= requestAnimationFrame(paint); }
	function paint() {
		due = 0;
		const w = canvas.clientWidth, tall = canvas.clientHeight, scale = devicePixelRatio || 1;
		if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(tall * scale)) { canvas.width = Math.round(w * scale); canvas.height = Math.round(tall * scale); }
		const c = canvas.getContext('2d');
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.clearRect(0, 0, w, tall);
		if (!data) return;
		const faint = colour('line'), lines = data.legend.map(l => only && only !== l.label ? faint : hueOf(l.label)), hue = i => lines[i];
		if (data.binned) cells(c, hue); else points(c, hue);
		c.globalAlpha = 1;
		rules(c, w, tall);
		if (document.activeElement === canvas && canvas.matches(':focus-visible')) { c.fillStyle = colour('text'); c.fillRect(w / 2 - 8, tall / 2, 17, 1); c.fillRect(w / 2, tall / 2 - 8, 1, 17); }
	}
	function points(c, hue) {
		const opened = read().params.get('entity');
		for (const [x, y, i, handle] of data.points) {
			c.fillStyle = hue(i); c.fillRect(sx(x) - 2, sy(y) - 2, 4, 4);
			if (handle === opened) { c.strokeStyle = colour('text'); c.lineWidth = 2; c.strokeRect(sx(x) - 6, sy(y) - 6, 12, 12); }
		}
	}
	function cells(c, hue) {
		const { nx, ny, cells } = data.cells, [x0, y0, x1, y1] = data.box, dx = (x1 - x0) / nx, dy = (y1 - y0) / ny;
		const most = cells.reduce((m, e) => Math.max(m, e[1]), 1), wide = Math.max(1, sx(x0 + dx) - sx(x0)) + .5, high = Math.max(1, sy(y0) - sy(y0 + dy)) + .5;
		for (const [cell, n, i] of cells) {
			c.globalAlpha = .35 + .65 * Math.log1p(n) / Math.log1p(most);
			c.fillStyle = hue(i);
			c.fillRect(sx(x0 + cell % nx * dx), sy(y0 + (Math.floor(cell / nx) + 1) * dy), wide, high);
		}
	}
	function rules(c, w, tall) {
		c.font = '11px system-ui, sans-serif';
		c.fillStyle = colour('back'); c.globalAlpha = .8; c.fillRect(0, tall - below, w, below); c.fillRect(0, 0, left, tall); c.globalAlpha = 1;
		c.fillStyle = colour('soft');
		const marks = (from, to, px, at) => { const wish = (to - from) / Math.max(2, px / 110), ten = 10 ** Math.floor(Math.log10(wish)), step = ten * [1, 2, 5, 10].find(m => ten * m >= wish); for (let v = Math.ceil(from / step) * step; v <= to; v += step) at(v, +v.toPrecision(6)); };
		marks(view[0], view[2], w, (v, text) => { const x = sx(v); if (x > left && x < w - 60) { c.fillRect(x, tall - below, 1, 4); c.fillText(text, x + 3, tall - 5); } });
		marks(view[1], view[3], tall, (v, text) => { const y = sy(v); if (y > 12 && y < tall - below - 8) { c.fillRect(left - 4, y, 4, 1); c.fillText(text, 4, y + 4, 46); } });
		c.fillText(of.x, Math.max(left + 4, w - 8 - c.measureText(of.x).width), tall - below - 4); c.fillText(of.y, left + 4, 12);
	}

	function look(next) {
		view = box = next;
		ctx.set({ box: box.map(v => +v.toPrecision(6)).join() });
		draw();
		open();
	}
	function whole() { box = null; ctx.set({ box: '' }); open(); }
	function zoom(f, px = canvas.clientWidth / 2, py = canvas.clientHeight / 2) {
		const [x, y] = place(px, py);
		look([x - (x - view[0]) * f, y - (y - view[1]) * f, x + (view[2] - x) * f, y + (view[3] - y) * f]);
	}
	function pan(from, dx, dy) { const w = (from[2] - from[0]) * dx, v = (from[3] - from[1]) * dy; return [from[0] + w, from[1] + v, from[2] + w, from[3] + v]; }
	function move(e) {
		if (!drag) return;
		const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
		drag.moved ||= Math.hypot(dx, dy) > 4;
		if (drag.moved) { view = pan(drag.view, -dx / canvas.clientWidth, dy / canvas.clientHeight); draw(); }
	}
	function up(e) {
		const was = drag, r = canvas.getBoundingClientRect();
		drag = null;
		if (was?.moved) look(view); else if (was) pick(e.clientX - r.left, e.clientY - r.top);
	}
	// pick opens the entity nearest to a place. Cells have no entities: those around it are asked for.
	async function pick(px, py, near = 30) {
		let points = data?.points;
		for (let size = 12; data?.binned && !points && size > .01; size /= 4) {
			const [x0, y0] = place(px - size, py + size), [x1, y1] = place(px + size, py - size);
			points = (await ctx.get('api/map', asked([x0, y0, x1, y1])).catch(() => ({ points: [] }))).points;
		}
		let best = null;
		for (const [x, y, i, handle] of points ?? []) { const d = Math.hypot(sx(x) - px, sy(y) - py); if (d < near && (!only || only === data.legend[i]?.label)) [best, near] = [handle, d]; }
		best ? ctx.open(best) : ctx.say('There is no entity near this place.');
	}
	function key(e) {
		const go = { ArrowLeft: () => look(pan(view, -.1, 0)), ArrowRight: () => look(pan(view, .1, 0)), ArrowUp: () => look(pan(view, 0, .1)), ArrowDown: () => look(pan(view, 0, -.1)),
			'+': () => zoom(.7), '=': () => zoom(.7), '-': () => zoom(1 / .7), 0: whole, Enter: () => pick(canvas.clientWidth / 2, canvas.clientHeight / 2, Infinity) }[e.key];
		if (go && data) { e.preventDefault(); go(); }
	}
	const sized = new ResizeObserver(() => { if (data && !box) view = fit(data.box); draw(); });
	sized.observe(holder);
	ctx.closing(() => { sized.disconnect(); clearTimeout(timer); cancelAnimationFrame(due); });
	ctx.closing(onTheme(() => { hues = palette(); if (data) explain(); draw(); }));
	open();
	return { params: draw };
}

export default { title: 'Map', mount };
