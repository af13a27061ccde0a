// The part of the plane that a map shows, and how it is drawn.
import { colour } from './dom.js';
import { steps } from './format.js';

const left = 56, below = 18; // pixels of the axes

// plane draws on a canvas. view is the part that is seen, as [x0, y0, x1, y1].
export function plane(canvas) {
	const p = { view: [0, 0, 1, 1], fit, place, pan, zoomed, near, paint };
	const wide = () => Math.max(1, canvas.clientWidth), high = () => Math.max(1, canvas.clientHeight);
	const sx = x => (x - p.view[0]) / (p.view[2] - p.view[0]) * wide();
	const sy = y => high() - (y - p.view[1]) / (p.view[3] - p.view[1]) * high();

	// fit widens a box to the canvas, with room for the axes; both have the same measure if they are alike.
	function fit([x0, y0, x1, y1], alike) {
		if (!(x1 > x0)) [x0, x1] = [x0 - 1, x0 + 1];
		if (!(y1 > y0)) [y0, y1] = [y0 - 1, y0 + 1];
		const w = Math.max(1, wide() - left), tall = Math.max(1, high() - below);
		let dx = (x1 - x0) * 1.04 / w, dy = (y1 - y0) * 1.04 / tall; // of a pixel
		if (alike) dx = dy = Math.max(dx, dy);
		const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
		return [cx - dx * (w / 2 + left), cy - dy * (tall / 2 + below), cx + dx * w / 2, cy + dy * tall / 2];
	}
	// place is what is seen at a pixel.
	function place(px, py) {
		const [x0, y0, x1, y1] = p.view;
		return [x0 + px / wide() * (x1 - x0), y0 + (high() - py) / high() * (y1 - y0)];
	}
	// pan is a view moved by pixels, zoomed one that is f times as wide about a pixel.
	function pan([x0, y0, x1, y1], px, py) {
		const dx = -px / wide() * (x1 - x0), dy = py / high() * (y1 - y0);
		return [x0 + dx, y0 + dy, x1 + dx, y1 + dy];
	}
	function zoomed(f, px = wide() / 2, py = high() / 2) {
		const [x, y] = place(px, py), [x0, y0, x1, y1] = p.view;
		return [x - (x - x0) * f, y - (y - y0) * f, x + (x1 - x) * f, y + (y1 - y) * f];
	}
	// near is the handle of the point nearest to a pixel, of those that fit.
	function near(points, px, py, limit, fits) {
		let best = '';
		for (const [x, y, i, handle] of points) {
			const d = Math.hypot(sx(x) - px, sy(y) - py);
			if (d < limit && fits(i)) [best, limit] = [handle, d];
		}
		return best;
	}

	// paint draws what the server sent: hues are the colours of its legend, names those of the axes.
	function paint(data, hues, names, opened) {
		const w = wide(), tall = high(), scale = devicePixelRatio || 1;
		for (const [side, n] of [['width', w], ['height', tall]]) if (canvas[side] !== Math.round(n * scale)) canvas[side] = Math.round(n * scale);
		const c = canvas.getContext('2d');
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.clearRect(0, 0, w, tall);
		if (data.binned) cells(c, data, hues);
		else points(c, data, hues, opened);
		rules(c, w, tall, names);
		if (document.activeElement !== canvas || !canvas.matches(':focus-visible')) return;
		c.fillStyle = colour('text'); // the middle, for keys
		c.fillRect(w / 2 - 8, tall / 2, 17, 1);
		c.fillRect(w / 2, tall / 2 - 8, 1, 17);
	}
	function points(c, data, hues, opened) {
		c.strokeStyle = colour('text');
		c.lineWidth = 2;
		for (const [x, y, i, handle] of data.points) {
			c.fillStyle = hues[i];
			c.fillRect(sx(x) - 2, sy(y) - 2, 4, 4);
			if (handle === opened) c.strokeRect(sx(x) - 6, sy(y) - 6, 12, 12);
		}
	}
	function cells(c, data, hues) {
		const { nx, ny, cells } = data.cells, [x0, y0, x1, y1] = data.box, dx = (x1 - x0) / nx, dy = (y1 - y0) / ny;
		const most = cells.reduce((m, cell) => Math.max(m, cell[1]), 1);
		const w = Math.max(1, sx(x0 + dx) - sx(x0)) + .5, tall = Math.max(1, sy(y0) - sy(y0 + dy)) + .5;
		for (const [cell, n, i] of cells) {
			c.globalAlpha = .35 + .65 * Math.log1p(n) / Math.log1p(most);
			c.fillStyle = hues[i];
			c.fillRect(sx(x0 + cell % nx * dx), sy(y0 + (Math.floor(cell / nx) + 1) * dy), w, tall);
		}
		c.globalAlpha = 1;
	}
	function rules(c, w, tall, names) {
		c.font = '11px system-ui, sans-serif';
		c.fillStyle = colour('back');
		c.globalAlpha = .8;
		c.fillRect(0, tall - below, w, below);
		c.fillRect(0, 0, left, tall);
		c.globalAlpha = 1;
		c.fillStyle = colour('soft');
		for (const v of steps(p.view[0], p.view[2], w / 110)) {
			const x = sx(v);
			if (x < left || x > w - 60) continue;
			c.fillRect(x, tall - below, 1, 4);
			c.fillText(v, x + 3, tall - 5);
		}
		for (const v of steps(p.view[1], p.view[3], tall / 110)) {
			const y = sy(v);
			if (y < 12 || y > tall - below - 8) continue;
			c.fillRect(left - 4, y, 4, 1);
			c.fillText(v, 4, y + 4, 46);
		}
		c.fillText(names.x, Math.max(left + 4, w - 8 - c.measureText(names.x).width), tall - below - 4);
		c.fillText(names.y, left + 4, 12);
	}
	return p;
}
