// The panel of one entity: its components as they change, what it is linked with, and changes to it.
import { h, put } from './dom.js';
import { count, value } from './format.js';
import { stream, Refusal } from './server.js';
import { control, note, say, sure } from './control.js';
import { write } from './address.js';

const aside = document.getElementById('entity');
let handle = '', end = null, parts = null;

const link = to => h('button', { type: 'button', class: 'link code', click: () => write({ entity: to }, true) }, to);
// told says what became of a change.
const told = (what, { outcome }) => outcome === 'undecided' ? say(`${what}: waits for the next tick`) : say(`${what}: ${outcome}`, outcome !== 'applied');

// line is a field: its name, its value, and a button to edit it where that can be done. Numbers are
// sent as text, which has all that a float64 has not.
function line(world, component, f) {
	const shown = h('span', { class: 'code' }), label = component + (f.path ? '.' + f.path : '');
	const place = h('span', {}, shown), tools = h('span');
	let is = typeof f.value;
	const back = () => { place.replaceChildren(shown); tools.replaceChildren(...f.editable ? [edit] : []); };
	const edit = h('button', { type: 'button', 'aria-label': `Edit ${label}`, click: () => {
		const input = is === 'boolean' ? h('select', { 'aria-label': label }, h('option', {}, 'true'), h('option', {}, 'false'))
			: h('input', { 'aria-label': label, inputmode: is === 'number' ? 'decimal' : 'text' });
		input.value = shown.textContent;
		const sent = () => is === 'boolean' ? input.value === 'true' : is === 'number' ? input.value.trim() : input.value;
		const set = control(world, 'Set', 'api/entity/set', () => ({ handle, component, path: f.path, value: sent() }), answer => {
			told(label, answer);
			back();
			edit.focus();
		});
		input.addEventListener('keydown', e => { if (e.key === 'Enter') set.click(); if (e.key === 'Escape') { e.stopPropagation(); back(); edit.focus(); } });
		place.replaceChildren(input);
		tools.replaceChildren(set);
		input.focus();
		input.select?.();
	} }, 'Edit');
	back();
	return { cells: [h('span', {}, f.path || 'value'), place, tools], show: now => { is = typeof now.value; put(shown, value(now.value)); } };
}

// section is a component with its fields; it is made anew where the fields are others.
function section(world, c) {
	const grid = h('div', { class: 'fields' }), el = h('details', { open: true }, h('summary', { title: c.type }, c.name), grid);
	const whole = !c.fields?.length, text = h('pre');
	const lines = (c.fields ?? []).map(f => line(world, c.name, f));
	whole ? el.append(text) : grid.append(...lines.flatMap(l => l.cells));
	return { el, show(now) { whole ? put(text, now.why_not || value(now.value)) : now.fields.forEach((f, i) => lines[i].show(f)); } };
}

// rest is what an entity is linked with, as links.
function rest(e) {
	const dl = h('dl', {}), add = (name, ...what) => dl.append(h('dt', { class: 'note' }, name), h('dd', {}, ...what));
	for (const n of e.names ?? []) add(n.label, n.name);
	for (const r of e.relations ?? []) {
		if (r.parent) add(`${r.label}: parent`, link(r.parent));
		const shown = r.children ?? [];
		if (shown.length) add(`${r.label}: children`, ...shown.flatMap(c => [link(c), ' ']), r.children_count > shown.length ? `and ${count(r.children_count - shown.length)} more` : '');
	}
	for (const r of e.references ?? []) add(`${r.component}${r.path ? '.' + r.path : ''}`, link(r.handle), r.status === 'alive' ? '' : ` (${r.status})`);
	return dl;
}

// take shows the entity as it is now; what did not change stays, and with it what is being typed.
function take(world, e) {
	put(parts.about, e.shard >= 0 ? `${e.status}, shard ${e.shard}, tick ${count(e.tick)}${e.flags?.length ? `, flags ${e.flags.join(' ')}` : ''}` : e.status);
	const shape = JSON.stringify((e.components ?? []).map(c => [c.name, (c.fields ?? []).map(f => [f.path, f.editable])]));
	if (shape !== parts.shape) {
		parts.shape = shape;
		parts.sections = e.components.map(c => section(world, c));
		parts.body.replaceChildren(...parts.sections.map(s => s.el));
	}
	(e.components ?? []).forEach((c, i) => parts.sections[i].show(c));
	const links = JSON.stringify([e.names, e.relations, e.references]);
	if (links !== parts.links) {
		parts.links = links;
		parts.rest.replaceChildren(rest(e));
	}
	parts.destroy.hidden = e.status !== 'alive';
}

function close() {
	const before = parts?.before;
	write({ entity: '' });
	panel.show('');
	dispatchEvent(new Event('hashchange'));
	before?.isConnected ? before.focus() : document.getElementById('main').focus();
}

function open(world) {
	const title = h('h2', { tabindex: '-1', class: 'code' }, handle), wrong = h('p', { class: 'bad', role: 'alert' });
	parts = { about: h('p', { class: 'note' }), body: h('div'), rest: h('div'), shape: '', links: '', sections: [], before: document.activeElement };
	const mine = handle;
	parts.destroy = control(world, 'Destroy', 'api/entity/destroy', async () => await sure(`Destroy the entity ${mine}?`) && { handle: mine }, a => told(mine, a), { class: 'danger' });
	aside.replaceChildren(h('div', { class: 'top' }, title, h('button', { type: 'button', 'aria-label': 'Close the entity', click: close }, '✕')), parts.about, wrong, parts.body, parts.rest,
		h('p', { class: 'row' }, parts.destroy), ...[note(world)].filter(Boolean));
	title.focus({ preventScroll: true });
	end = stream('api/entity/stream', { handle }, {
		event: (name, e) => { if (name === 'entity') { put(wrong, ''); take(world, e); } else if (name === 'failed') put(wrong, e.error); },
		refused: e => { if (e instanceof Refusal) put(wrong, e.message); },
	});
}

aside.addEventListener('keydown', e => { if (e.key === 'Escape') close(); });

export const panel = {
	show(now, world) {
		if (now === handle) return;
		end?.();
		end = null;
		handle = now;
		aside.hidden = !now;
		now ? open(world) : aside.replaceChildren();
		if (!now) parts = null;
	},
};
