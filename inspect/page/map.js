// A map of the entities by two of their fields. The server sends up to 4,000 points, or counts in
// cells where there are more.
import { h, put, field, select, choice, colour, palette, onTheme } from './dom.js';
import { count } from './format.js';
import { numbers, axes } from './fields.js';
import { read } from './address.js';
import { plane } from './plane.js';

const cells = 200; // along a side, where there are too many points

function boxOf(text) {
	const b = (text ?? '').split(',').map(Number);
	return b.length === 4 && b.every(isFinite) && b[0] < b[2] && b[1] < b[3] ? b : null;
}

function mount(main, ctx) {
	const all = numbers(ctx.world), p = ctx.params, found = axes(all);
	if (!all.length) return void main.append(h('p', { class: 'note' }, 'No component that frames hold has a field that is a number, so there is no map.'));
	const known = name => all.find(f => f.name === name);
	const of = { x: known(p.get('x'))?.name ?? found[0], y: known(p.get('y'))?.name ?? found[1] };
	let by = p.get('color') === 'set' ? 'set' : 'shard', where = p.get('where') ?? '', box = boxOf(p.get('box')), paused = false;
	let data = null, only = '', drag = null, end = null, due = 0, timer = 0, hues = palette(), explained = '';
	const seen = []; // what got a colour, in the order in which it came

	const filter = h('input', { type: 'search', value: where, class: 'code', placeholder: 'all entities', change: () => {
		where = filter.value.trim();
		ctx.set({ where });
		open();
	} });
	const pause = h('button', { type: 'button', 'aria-pressed': 'false', click: () => {
		paused = !paused;
		pause.setAttribute('aria-pressed', String(paused));
		open();
	} }, 'Hold still');
	const told = h('p', { class: 'note' }, 'The map comes with the next tick.'), wrong = h('p', { class: 'bad', role: 'alert' });
	const legend = h('div', { class: 'legend', role: 'group', 'aria-label': 'Colours; a button shows its entities alone' });
	const canvas = h('canvas', {
		tabindex: '0', role: 'application',
		'aria-label': 'Map. Arrow keys move it, plus and minus zoom, 0 shows all, Enter opens the entity nearest to the middle.',
		keydown: key, pointerdown: down, pointermove: move, pointerup: up, pointercancel: () => { drag = null; }, focus: () => draw(), blur: () => draw(),
	});
	canvas.addEventListener('wheel', e => {
		e.preventDefault();
		look(plot.zoomed(e.deltaY > 0 ? 1.25 : .8, ...pixel(e)));
	}, { passive: false });
	const plot = plane(canvas), holder = h('div', { class: 'map' }, canvas);
	const button = (text, click, label) => h('button', { type: 'button', 'aria-label': label, click }, text);
	const axis = name => field(name, select(all.map(f => [f.name, f.name]), of[name], v => {
		of[name] = v;
		ctx.set({ [name]: v });
		whole();
	}));
	main.append(h('h2', { class: 'hidden' }, 'Map'),
		h('form', { class: 'row', submit: e => e.preventDefault() }, axis('x'), axis('y'),
			choice('Colour', [['shard', 'By shard'], ['set', 'By components']], by, v => {
				[by, only] = [v, ''];
				ctx.set({ color: v === 'shard' ? '' : v });
				open();
			}),
			h('span', { class: 'field wide' }, field('Where', filter)), pause,
			h('span', { class: 'field' },
				button('+', () => look(plot.zoomed(.6)), 'Zoom in'), button('−', () => look(plot.zoomed(1 / .6)), 'Zoom out'), button('All', whole))),
		wrong, told, holder, legend);

	const asked = box => ({ x: of.x, y: of.y, color: by, cells, ...where && { where }, ...box && { box: box.join() } });
	// open asks for the map as it is chosen now, once or for good.
	function open() {
		end?.();
		end = null;
		clearTimeout(timer);
		timer = setTimeout(() => {
			const bad = e => put(wrong, e.message ?? e.error);
			if (paused) ctx.get('api/map', asked(box)).then(take, bad);
			else end = ctx.stream('api/map/stream', asked(box), { event: (name, sent) => ({ map: take, failed: bad })[name]?.(sent), refused: bad });
		}, data ? 200 : 0);
	}
	const fitted = () => plot.fit(data.box, known(of.x).component === known(of.y).component);
	function take(map) {
		data = map;
		put(wrong, '');
		if (!drag) plot.view = box ?? fitted();
		const kind = map.binned ? `counted in ${count(map.cells.nx)} × ${count(map.cells.ny)} cells, as there are more than 4,000; zoom in to see each` : 'each drawn';
		put(told, `${count(map.all)} entities match, ${count(map.shown)} of them here, ${kind}. Tick ${count(map.tick)}.`);
		const lines = map.legend.map(l => l.label + l.n).join();
		if (lines !== explained) explain();
		explained = lines;
		draw();
	}
	// hueOf is the colour of a line of the legend. The most frequent come first, which changes: a colour
	// goes by what the line stands for.
	function hueOf(label) {
		if (label === 'others') return colour('soft');
		const shard = ctx.world.shards <= hues.length && /^shard (\d+)$/.exec(label);
		if (!shard && !seen.includes(label)) seen.push(label);
		return hues[(shard ? Number(shard[1]) : seen.indexOf(label)) % hues.length];
	}
	function explain() {
		const focused = [...legend.children].indexOf(document.activeElement);
		legend.replaceChildren(...data.legend.map(l => {
			const key = h('i');
			key.style.background = hueOf(l.label);
			return h('button', { type: 'button', 'aria-pressed': String(only === l.label), click: () => {
				only = only === l.label ? '' : l.label;
				explain();
				draw();
			} }, key, `${l.label || '(no components)'}: ${count(l.n)}`);
		}));
		if (focused >= 0) legend.children[focused]?.focus();
	}
	function draw() { due ||= requestAnimationFrame(paint); }
	function paint() {
		due = 0;
		if (!data) return;
		const faint = colour('line');
		plot.paint(data, data.legend.map(l => only && only !== l.label ? faint : hueOf(l.label)), of, read().params.get('entity'));
	}

	function look(next) {
		plot.view = box = next;
		ctx.set({ box: box.map(v => +v.toPrecision(6)).join() });
		draw();
		open();
	}
	function whole() {
		box = null;
		ctx.set({ box: '' });
		open();
	}
	function pixel(e) {
		const r = canvas.getBoundingClientRect();
		return [e.clientX - r.left, e.clientY - r.top];
	}
	function down(e) {
		drag = { at: pixel(e), view: plot.view, moved: false };
		canvas.setPointerCapture(e.pointerId);
	}
	function move(e) {
		if (!drag) return;
		const [x, y] = pixel(e), dx = x - drag.at[0], dy = y - drag.at[1];
		drag.moved ||= Math.hypot(dx, dy) > 4;
		if (!drag.moved) return;
		plot.view = plot.pan(drag.view, dx, dy);
		draw();
	}
	function up(e) {
		const was = drag;
		drag = null;
		if (was?.moved) look(plot.view);
		else if (was) pick(...pixel(e), 30);
	}
	// pick opens the entity nearest to a pixel. Cells have no entities: those around it are asked for.
	async function pick(px, py, limit) {
		let from = data;
		for (let size = 12; from?.binned && size > .01; size /= 4) {
			const [x0, y0] = plot.place(px - size, py + size), [x1, y1] = plot.place(px + size, py - size);
			from = await ctx.get('api/map', asked([x0, y0, x1, y1])).catch(() => null);
		}
		const best = plot.near(from?.points ?? [], px, py, limit, i => !only || only === from.legend[i]?.label);
		best ? ctx.open(best) : ctx.say('There is no entity near this place.');
	}
	function key(e) {
		const w = canvas.clientWidth, tall = canvas.clientHeight, by = (dx, dy) => () => look(plot.pan(plot.view, dx * w / 10, dy * tall / 10));
		const go = {
			ArrowLeft: by(1, 0), ArrowRight: by(-1, 0), ArrowUp: by(0, 1), ArrowDown: by(0, -1),
			'+': () => look(plot.zoomed(.7)), '=': () => look(plot.zoomed(.7)), '-': () => look(plot.zoomed(1 / .7)), 0: whole,
			Enter: () => pick(w / 2, tall / 2, Infinity),
		}[e.key];
		if (!go || !data) return;
		e.preventDefault();
		go();
	}
	const sized = new ResizeObserver(() => {
		if (data && !box) plot.view = fitted();
		draw();
	});
	sized.observe(holder);
	ctx.closing(() => {
		sized.disconnect();
		clearTimeout(timer);
		cancelAnimationFrame(due);
	});
	ctx.closing(onTheme(() => {
		hues = palette();
		if (data) explain();
		draw();
	}));
	open();
	return { params: draw };
}

export default { title: 'Map', mount };
