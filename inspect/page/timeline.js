// A tick as lanes of spans: who ran what when, who waited for whom, and the critical path.
import { h, put, choice, colour, palette, ink, onTheme } from './dom.js';
import { time, percent, steps } from './format.js';

const gutter = 74, head = 18;

function describe(s, tick) {
	const where = [s.shard >= 0 && `shard ${s.shard}`, s.worker >= 0 && `worker ${s.worker}`].filter(Boolean).join(', ');
	const what = s.kind === 'wait' ? (s.for >= 0 ? `waits for shard ${s.for} to pass ${s.name}` : `waits for ${s.name}, which runs once for all shards`)
		: s.kind === 'system' || s.kind === 'between' ? s.name : s.kind === 'balance' ? 'balancer' : `refresh: ${s.name}`;
	const took = s.to_ns - s.from_ns, when = `${time(took)} (${percent(took / tick.duration_ns)}), from ${time(s.from_ns)} to ${time(s.to_ns)}`;
	return [what, where, when, s.critical && 'on the critical path'].filter(Boolean).join(' · ');
}

// laneOf is the number of a span's lane, and null where another span in sight says the same: who
// waits is a shard and no worker, and steps of the refresh are there as a whole, too.
const refresh = 1e9, others = refresh - 1; // lanes below those of shards or workers
function laneOf(s, by) {
	if (s.kind === 'step' && s.worker < 0) return refresh;
	if (by === 'worker' ? s.kind === 'wait' : s.kind === 'step' && s.shard < 0) return null;
	return s[by] < 0 ? others : s[by];
}
const laneName = (at, by) => at === refresh ? 'refresh' : at === others ? 'all shards' : `${by} ${at}`;

// timeline draws ticks. Systems have a colour each, by their order in names; by is 'worker' or 'shard'.
export function timeline(names, closing, by, chosen) {
	const canvas = h('canvas', { tabindex: '0', role: 'application', 'aria-label': 'Timeline of the tick. Arrow keys move between spans, plus and minus zoom, 0 shows all.',
		keydown: key, pointermove: hover, pointerdown: down, pointerup: up, pointercancel: () => { dragged = null; }, pointerleave: e => { if (!dragged && e.pointerType === 'mouse') point(null); } });
	canvas.addEventListener('wheel', wheel, { passive: false });
	const told = h('output', { class: 'told', 'aria-live': 'polite' }, 'Point at a span, or use the arrow keys.');
	const legend = h('div', { class: 'legend' });
	const box = h('div', { class: 'lanes' }, canvas);
	const el = h('div', { class: 'timeline' }, box, told, legend);
	const zoomBy = f => () => zoom((from + to) / 2, f);
	const controls = h('span', { class: 'row' }, choice('Lanes', [['worker', 'By worker'], ['shard', 'By shard']], by, v => { by = v; chosen(v); lay(); }),
		h('button', { type: 'button', 'aria-label': 'Zoom in', click: zoomBy(.5) }, '+'), h('button', { type: 'button', 'aria-label': 'Zoom out', click: zoomBy(2) }, '−'));
	let tick = null, lanes = [], tall = 20, from = 0, to = 1, whole = true, picked = null, dragged = null, due = 0, hatch = null, hues = [];

	function show(t) {
		const same = picked && t.spans.find(s => s.kind === picked.kind && s.name === picked.name && s.shard === picked.shard);
		tick = t;
		if (whole) [from, to] = [start(), end()];
		lay();
		point(same || null);
		const used = new Map();
		for (const s of t.spans) if (s.kind === 'system') used.set(s.name, (used.get(s.name) ?? 0) + s.to_ns - s.from_ns);
		const most = [...used].sort((a, b) => b[1] - a[1]).slice(0, 12);
		legend.replaceChildren(...most.map(([name, ns]) => {
			const key = h('i'); key.style.background = hue(name);
			return h('span', {}, key, `${name} ${time(ns)}`);
		}), ...used.size > most.length ? [h('span', {}, `and ${used.size - most.length} more systems`)] : [],
		h('span', {}, h('i', { class: 'step' }), 'refresh, and between ticks'), h('span', {}, h('i', { class: 'wait' }), 'waits (by shard)'), h('span', {}, h('i', { class: 'critical' }), 'critical path'));
	}
	const start = () => Math.min(0, ...tick.spans.map(s => s.from_ns));
	const end = () => Math.max(tick.duration_ns - tick.between_ns, ...tick.spans.map(s => s.to_ns)) * 1.01 || 1;
	const hue = name => { const i = names.indexOf(name); return hues[(i < 0 ? [...name].reduce((n, c) => n + c.charCodeAt(0), 0) : i) % hues.length]; };

	// lay sorts the spans into lanes.
	function lay() {
		if (!tick) return;
		const found = new Map();
		for (const s of tick.spans) {
			const at = laneOf(s, by);
			if (at !== null) found.get(at)?.push(s) ?? found.set(at, [s]);
		}
		lanes = [...found].sort((a, b) => a[0] - b[0]).map(([at, spans]) => ({ name: laneName(at, by), spans: spans.sort((a, b) => a.from_ns - b.from_ns) }));
		tall = lanes.length <= 8 ? 24 : lanes.length <= 32 ? 16 : 11;
		draw();
	}
	const draw = () => { due ||= requestAnimationFrame(paint); };
	const width = () => box.clientWidth - gutter;
	const x = ns => gutter + (ns - from) / (to - from) * width();
	const ns = x => from + (x - gutter) / width() * (to - from);

	function themed() {
		hues = palette();
		hatch = document.createElement('canvas');
		hatch.width = hatch.height = 6;
		const c = hatch.getContext('2d');
		c.strokeStyle = colour('soft');
		for (const d of [-6, 0, 6]) { c.moveTo(d, 6); c.lineTo(d + 6, 0); }
		c.stroke();
		draw();
	}

	function paint() {
		due = 0;
		if (!tick || !width()) return;
		const w = box.clientWidth, tallAll = head + lanes.length * tall + 2, scale = devicePixelRatio || 1;
		if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(tallAll * scale)) {
			canvas.width = w * scale; canvas.height = tallAll * scale;
			canvas.style.width = `${w}px`; canvas.style.height = `${tallAll}px`;
		}
		const c = canvas.getContext('2d'), soft = colour('soft');
		const look = { text: colour('text'), grey: colour('step'), back: colour('back'), waits: c.createPattern(hatch, 'repeat') };
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.clearRect(0, 0, w, tallAll);
		c.font = '11px system-ui, sans-serif';
		c.textBaseline = 'middle';
		rule(c, tallAll, soft, colour('line'));
		lanes.forEach((lane, i) => {
			const y = head + i * tall;
			c.fillStyle = soft;
			c.fillText(lane.name, 4, y + tall / 2);
			c.save();
			c.beginPath(); c.rect(gutter, y, width(), tall); c.clip();
			let drawn = 0; // as far as there is nothing to see of further spans within the same pixel
			for (const s of lane.spans) {
				if (s.to_ns < from || s.from_ns > to || (x(s.to_ns) < drawn && s !== picked)) continue;
				span(c, s, y + 1, tall - 3, look);
				drawn = Math.max(drawn, Math.floor(x(s.to_ns)) + .5);
			}
			c.restore();
		});
	}
	// rule draws the times on top, and the budget where it is in sight.
	function rule(c, tallAll, soft, line) {
		for (const at of steps(from, to, width() / 110)) {
			c.fillStyle = line; c.fillRect(x(at), head - 4, 1, tallAll);
			c.fillStyle = soft;
			if (x(at) < box.clientWidth - 44) c.fillText(at ? time(at) : '0', x(at) + 3, 7);
		}
		const budget = tick.budget_ns - tick.between_ns; // what came before the tick has used up a part
		if (budget <= to && budget >= from) { c.fillStyle = colour('bad'); c.fillRect(x(budget), 0, 2, tallAll); }
	}
	function span(c, s, y, tall, { text, grey, back, waits }) {
		const left = Math.max(gutter - 2, x(s.from_ns)), right = Math.min(gutter + width() + 2, x(s.to_ns)), wide = Math.max(1, right - left - .5);
		c.fillStyle = s.kind === 'wait' ? waits : s.kind === 'system' ? hue(s.name) : grey;
		c.fillRect(left, y, wide, tall);
		if (s.critical || s === picked) {
			c.strokeStyle = text; c.lineWidth = s === picked ? 3 : 1.5;
			c.strokeRect(left + .75, y + .75, Math.max(1, wide - 1.5), tall - 1.5);
		}
		if (wide < 34 || tall < 10) return;
		c.save();
		c.beginPath(); c.rect(left, y, wide - 2, tall); c.clip();
		if (s.kind === 'wait') {
			const label = s.for >= 0 ? `for shard ${s.for}: ${s.name}` : `for ${s.name}`, room = c.measureText(label).width + 4;
			c.fillStyle = back; c.fillRect(left + 3, y + 2, room, tall - 4);
			c.fillStyle = text; c.fillText(label, left + 5, y + tall / 2);
		} else { c.fillStyle = s.kind === 'system' ? ink(hue(s.name)) : text; c.fillText(s.name, left + 4, y + tall / 2 + .5); }
		c.restore();
	}

	function point(s) {
		if (s === picked && s) return put(told, describe(s, tick));
		picked = s;
		put(told, s ? describe(s, tick) : 'Point at a span, or use the arrow keys.');
		draw();
	}
	// at finds the span at a place; where spans are narrow, the nearest within four pixels.
	function at(e) {
		const r = canvas.getBoundingClientRect(), lane = lanes[Math.floor((e.clientY - r.top - head) / tall)], px = e.clientX - r.left;
		if (!lane) return null;
		let best = null, near = 4;
		for (const s of lane.spans) {
			const off = Math.max(x(s.from_ns) - px, px - x(s.to_ns), 0);
			if (off < near || (best && off === 0 && near === 0)) [best, near] = [s, off];
		}
		return best;
	}
	function zoom(around, f) {
		const wide = Math.max(100, (to - from) * f), share = (around - from) / (to - from);
		slide(around - share * wide, wide);
	}
	function slide(left, wide) {
		const first = tick ? start() : 0, last = tick ? end() : 1;
		whole = wide >= last - first;
		from = whole ? first : Math.min(Math.max(first, left), last - wide);
		to = whole ? last : from + wide;
		draw();
	}
	function hover(e) {
		if (!tick) return;
		if (dragged && Math.abs(e.clientX - dragged.x) > 3) { dragged.moved = true; slide(dragged.from - (e.clientX - dragged.x) / width() * (to - from), to - from); } else if (!dragged) point(at(e));
	}
	function down(e) { dragged = { x: e.clientX, from, moved: false }; canvas.setPointerCapture(e.pointerId); }
	function up(e) { if (dragged && !dragged.moved && tick) point(at(e)); dragged = null; }
	function wheel(e) {
		if (!tick || !(e.ctrlKey || e.metaKey || e.shiftKey)) return;
		e.preventDefault();
		zoom(ns(e.clientX - canvas.getBoundingClientRect().left), (e.deltaY || e.deltaX) > 0 ? 1.25 : .8);
	}
	function key(e) {
		if (!tick) return;
		const lane = Math.max(0, lanes.findIndex(l => l.spans.includes(picked))), spans = lanes[lane].spans, i = spans.indexOf(picked);
		const beside = d => { const l = lanes[Math.min(lanes.length - 1, Math.max(0, lane + d))], t = picked?.from_ns ?? 0; return l.spans.find(s => s.to_ns > t) ?? l.spans.at(-1); };
		const go = { ArrowRight: () => point(spans[Math.min(spans.length - 1, i + 1)]), ArrowLeft: () => point(spans[Math.max(0, i - 1)]),
			ArrowUp: () => point(beside(-1)), ArrowDown: () => point(beside(1)), Home: () => point(spans[0]), End: () => point(spans.at(-1)),
			'+': () => zoom(picked?.from_ns ?? (from + to) / 2, .5), '-': () => zoom(picked?.from_ns ?? (from + to) / 2, 2), 0: () => zoom(0, Infinity), Escape: () => point(null) }[e.key];
		if (!go) return;
		e.preventDefault();
		go();
		if (picked && (picked.to_ns < from || picked.from_ns > to)) slide(picked.from_ns - (to - from) / 2, to - from);
	}
	const sized = new ResizeObserver(draw);
	sized.observe(box);
	closing(() => { sized.disconnect(); cancelAnimationFrame(due); });
	closing(onTheme(themed));
	themed();
	return { el, controls, show };
}
