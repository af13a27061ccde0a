// Lines over time, drawn by uPlot.
import uPlot from './uplot/uPlot.esm.js';
import { h, colour, onTheme } from './dom.js';
import { clock } from './format.js';

const height = 200;

// chart draws series [{label, colour, dash, width}] with values that show writes. Left and right move
// through the points.
export function chart(title, series, show, closing) {
	const el = h('div', { class: 'chart', tabindex: '0', role: 'img', keydown: key });
	let plot = null, data = null;
	function make() {
		plot?.destroy();
		const text = colour('soft'), grid = { stroke: colour('line'), width: 1 }, ticks = { ...grid, size: 4 };
		plot = new uPlot({
			width: Math.max(200, el.clientWidth), height, ms: 1, padding: [8, 28, 0, 0],
			cursor: { drag: { x: false, y: false }, points: { size: 6 } },
			scales: { y: { range: (_, min, max) => [0, (max || 1) * 1.05] } },
			axes: [{ stroke: text, grid, ticks, space: 70, values: (_, at) => at.map(v => clock(v)) },
				{ stroke: text, grid, ticks, size: 64, values: (_, at) => at.map(v => v ? show(v) : '0') }],
			series: [{ label: 'at', value: (_, v) => v ? clock(v) : 'now' }, ...series.map(s => ({
				label: s.label, stroke: colour(s.colour), width: s.width ?? 1.5, dash: s.dash, points: { show: false },
				value: (u, v, i, at) => show(at === null ? u.data[i].findLast(v => v !== null) : v),
			}))],
		}, data, el);
	}
	function key(e) {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
		if (!step || !plot) return;
		e.preventDefault();
		const at = Math.min(data[0].length - 1, Math.max(0, (plot.cursor.idx ?? data[0].length) + step));
		plot.setCursor({ left: plot.valToPos(data[0][at], 'x'), top: 0 });
	}
	// The legend may wrap then, which changes the size again: so it is done in the next frame.
	const sized = new ResizeObserver(() => requestAnimationFrame(() => plot?.setSize({ width: Math.max(200, el.clientWidth), height })));
	sized.observe(el);
	closing(onTheme(() => data && make()));
	closing(() => { sized.disconnect(); plot?.destroy(); plot = null; });
	return {
		el,
		set(columns) {
			data = columns;
			plot ? plot.setData(data) : make();
			el.setAttribute('aria-label', `${title}. Now: ` + series.map((s, i) => `${s.label} ${show(data[i + 1].findLast(v => v !== null))}`).join(', '));
		},
	};
}
