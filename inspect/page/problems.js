// What went wrong, and the recordings of ticks: to download, and to look at here.
import { h, put, table } from './dom.js';
import { count, bytes, moment, time } from './format.js';
import { download, token } from './server.js';
import { note } from './control.js';
import { timeline } from './timeline.js';
import { describe, lanesOf } from './ticks.js';

const kinds = { overrun: 'overrun', panic: 'panic', stuck: 'stuck system', refused: 'refused', slow: 'slow', rung: 'overload' };
const traceMax = 200; // ticks of a recording that the page shows

function mount(main, ctx) {
	let open = '', shown = [], at = 0;
	const go = h('input', { type: 'checkbox', id: 'record-go' });
	const list = table('Problems', [
		{ name: 'When', by: p => p.at_ms, text: p => moment(p.at_ms) },
		{ name: 'Kind', by: p => p.kind, text: p => kinds[p.kind] ?? p.kind },
		{ name: 'Tick', right: true, by: p => p.tick, text: p => count(p.tick) },
		{ name: 'What', by: p => p.what, cell: (td, p) => {
			const what = p.times > 1 ? `${p.what} (${count(p.times)} times)` : p.what;
			if (!td.firstChild) td.append(h('span'), ...p.detail ? [h('details', {}, h('summary', {}, 'Detail'), h('pre', {}, p.detail))] : []);
			put(td.firstChild, what);
		} },
		{ name: 'Recording', cell: (td, p) => { if (!td.firstChild && p.recording) td.append(look(p.recording)); } },
	], p => [p.at_ms, p.kind, p.tick, p.what].join());
	const recordings = table('Recordings', [
		{ name: 'When', by: r => r.at_ms, text: r => moment(r.at_ms) },
		{ name: 'Why', by: r => r.why, text: r => r.why === 'overrun' ? 'an overrun' : 'asked for' },
		{ name: 'Ticks', right: true, by: r => r.tick, text: r => `${count(r.ticks)} from ${count(r.tick)}` },
		{ name: 'Longest', right: true, by: r => r.max_ns, text: r => r.done ? time(r.max_ns) : '' },
		{ name: 'Size', right: true, by: r => r.bytes, text: r => r.done ? bytes(r.bytes) : 'recording…' },
		{ name: 'Open', cell: (td, r) => {
			if (td.firstChild || !r.done) return;
			td.append(h('span', { class: 'row' }, look(r.id), save(r.id, 'perfetto', 'Perfetto', 'json'), r.go && save(r.id, 'go', 'Go trace', 'trace')));
		} },
	], r => r.id);
	const viewer = h('section', { hidden: true }), none = h('p', { class: 'note' });
	main.append(h('h2', { class: 'hidden' }, 'Problems'),
		h('div', { class: 'row' }, ctx.control(ctx.world, 'Record the next 100 ticks', 'api/record', () => ({ ticks: 100, go: go.checked }), () => {
			ctx.say('The next 100 ticks are recorded.');
			load();
		}), go, h('label', { for: 'record-go' }, 'with a trace of the Go runtime')),
		...[note(ctx.world)].filter(Boolean), viewer,
		h('h3', {}, 'Recordings'), recordings.el, h('h3', {}, 'Problems'), none, list.el);

	const look = id => h('button', { type: 'button', click: () => { ctx.set({ recording: id }); show(id); } }, 'Open here');
	// save is a link, which the browser streams to a file; with a token the page has to fetch it.
	const save = (id, format, name, ext) => h('a', { href: `api/recordings/${encodeURIComponent(id)}?format=${format}`, download: `atoll-${id}.${ext}`, click: e => {
		if (!token()) return;
		e.preventDefault();
		download(`api/recordings/${encodeURIComponent(id)}`, { format }, `atoll-${id}.${ext}`).catch(e => ctx.say(e.message, true));
	} }, name);

	const lines = timeline(ctx.stats()?.systems.map(s => s.name) ?? [], ctx.closing, lanesOf(ctx), lanes => ctx.set({ lanes }));
	const title = h('p', { class: 'note', role: 'status' });
	const step = by => () => { at = Math.min(shown.length - 1, Math.max(0, at + by)); turn(); };
	const longest = () => { at = shown.reduce((best, t, i) => t.duration_ns > shown[best].duration_ns ? i : best, 0); turn(); };
	const shut = () => {
		[viewer.hidden, shown, open] = [true, [], ''];
		ctx.set({ recording: '' });
	};
	const button = (text, click) => h('button', { type: 'button', click }, text);
	viewer.append(h('h3', {}, 'Recording'),
		h('div', { class: 'row' }, button('◀ Earlier', step(-1)), button('Later ▶', step(1)), button('Longest', longest), lines.controls, button('Close', shut)),
		title, lines.el);
	function turn() {
		put(title, `${describe(shown[at])}. ${at + 1} of ${count(shown.length)}.`);
		lines.show(shown[at]);
	}
	async function show(id) {
		open = id;
		try {
			const { ticks } = await ctx.get(`api/recordings/${encodeURIComponent(id)}`);
			if (open !== id) return;
			shown = ticks.slice(0, traceMax);
			viewer.hidden = shown.length === 0;
			if (!shown.length) return ctx.say('The recording has no ticks.');
			longest();
			viewer.scrollIntoView({ block: 'nearest' });
		} catch (e) { if (e.name !== 'AbortError') ctx.say(e.message, true); }
	}
	const load = ctx.every(2000, async () => {
		const [p, r] = await Promise.all([ctx.get('api/problems'), ctx.get('api/recordings')]);
		put(none, p.problems?.length ? '' : 'Nothing has gone wrong so far.');
		list.show([...p.problems ?? []].sort((a, b) => b.at_ms - a.at_ms));
		recordings.show([...r.recordings ?? []].sort((a, b) => b.at_ms - a.at_ms));
	});
	if (ctx.params.get('recording')) show(ctx.params.get('recording'));
	return { problem: load };
}

export default { title: 'Problems', mount };
