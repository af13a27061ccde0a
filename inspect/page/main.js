// The frame of the page: the connection, the views, what they share.
import { read, write, link } from './address.js';
import { h, put } from './dom.js';
import { clock } from './format.js';
import { get, stream, askAgain } from './server.js';
import { control, say } from './control.js';
import { panel } from './entity.js';
import overview from './overview.js';
import shards from './shards.js';
import map from './map.js';
import query from './query.js';
import systems from './systems.js';
import problems from './problems.js';

const views = { overview, shards, map, query, systems, problems };
const by = id => document.getElementById(id);
const quiet = 5000; // milliseconds without figures that count as a broken connection

let world = null, stats = null;
let shown = '', own = '', view = null, ends = []; // the view, its part of the address, and what ends with it
let since = 0, unseen = 0; // when the connection broke; how many problems came while another view was shown
const last = {}; // the address that each view had last
const links = {};

// context is what a view gets: what it starts ends when another view is shown.
function context(params) {
	const life = new AbortController();
	ends = [() => life.abort()];
	return {
		world, params, control, say,
		stats: () => stats,
		set(changes) {
			write(changes);
			own = ownOf(read().params);
			mark();
		},
		go: (name, params) => { location.hash = link(name, params); },
		open: handle => write({ entity: handle }, true),
		get: (path, params) => get(path, params, life.signal),
		closing: f => ends.push(f),
		stream: (path, params, on) => { const end = stream(path, params, on); ends.push(end); return end; },
		// every calls f now and again, each time so many milliseconds after it ended, or later where it
		// takes long or the connection is broken.
		every(ms, f) {
			let timer = 0;
			const call = async () => {
				clearTimeout(timer);
				const began = performance.now();
				if (!document.hidden) await Promise.resolve(f()).catch(e => life.signal.aborted || since || say(e.message, true));
				if (!life.signal.aborted) timer = setTimeout(call, Math.max(since ? Math.max(ms, 2000) : ms, 3 * (performance.now() - began)));
			};
			ends.push(() => clearTimeout(timer));
			call();
			return call;
		},
	};
}

function close() {
	ends.forEach(f => f());
	ends = [];
	by('main').replaceChildren();
	shown = '';
}

// ownOf is what the address says of the view alone.
function ownOf(params) {
	const rest = new URLSearchParams(params);
	rest.delete('entity');
	return String(rest);
}

function route() {
	if (!world) return;
	const { view: asked, params } = read();
	const name = views[asked] ? asked : 'overview';
	if (name !== shown || ownOf(params) !== own) {
		close();
		[shown, own] = [name, ownOf(params)];
		view = views[name].mount(by('main'), context(params)) ?? {};
		if (stats) view.stats?.(stats);
	} else view.params?.(params);
	const entity = params.get('entity') ?? '';
	panel.show(entity, world);
	if (name === 'problems') unseen = 0;
	mark();
	document.title = `${views[name].title} – ${world.name || 'world'} – Inspector`;
}

// mark shows where the user is, and where each link leads: to the view as it was left.
function mark() {
	last[shown] = read().params;
	const entity = last[shown].get('entity');
	for (const name in views) {
		const params = new URLSearchParams(last[name]);
		entity ? params.set('entity', entity) : params.delete('entity');
		links[name].href = link(name, params);
		name === shown ? links[name].setAttribute('aria-current', 'page') : links[name].removeAttribute('aria-current');
	}
	put(links.problems, unseen ? `Problems (${unseen})` : 'Problems');
}

function banner(...content) {
	by('banner').hidden = content.length === 0;
	by('banner').replaceChildren(...content);
	document.body.classList.toggle('stale', content.length > 0);
}

function broken(why) {
	const first = !since;
	since ||= Date.now();
	state('not connected', 'bad');
	if (first || why) banner(`Not connected since ${clock(since)}; trying again. What is shown is from then.${why ? ' ' + why : ''}`);
	if (!why) get('api/stats').catch(stuck);
}

// stuck says what a server answers that has no figures.
function stuck(e) {
	if (!e.status) return; // it does not answer
	since ||= Date.now();
	state('no figures', 'bad');
	banner(`No figures since ${clock(since)}; trying again. ${e.message}`);
}

function state(text, kind = '') {
	put(by('state'), text);
	by('state').className = `chip ${kind}`;
}

// take gets the figures. A server that began anew may have another world: all views start again.
async function take(now) {
	if (!world || since) {
		const found = await get('api/world').catch(stuck); // the next figures ask again
		if (!found) return;
		if (world?.started_ms !== found.started_ms) close();
		world = found;
		since = 0;
		banner();
		put(by('name'), world.name || 'World');
	}
	stats = now;
	if (!shown) route();
	const late = now.age_ms > 3000;
	state(late ? `no sample for ${Math.round(now.age_ms / 1000)} s` : now.paused ? 'paused' : now.running ? 'running' : 'stepped by hand', late ? 'bad' : now.paused ? 'warn' : '');
	view.stats?.(stats);
}

for (const name in views) {
	links[name] = h('a', { href: `#${name}` }, views[name].title);
	by('views').append(links[name]);
}
by('skip').addEventListener('click', e => { e.preventDefault(); by('main').focus(); });
addEventListener('hashchange', route);
let taking = false;
stream('api/events', null, {
	quiet,
	event(name, data) {
		if (name === 'bye') return broken('The server has ended.');
		if (name === 'problem') { if (shown === 'problems') view.problem?.(); else if (shown) { unseen++; mark(); } }
		if (name !== 'stats' || taking) return;
		taking = true;
		take(data).finally(() => { taking = false; });
	},
	broken,
	refused(error) {
		const again = h('button', { type: 'button', click: async () => { if (await askAgain()) location.reload(); } }, 'Give the token');
		banner(`${error.message} `, error.status === 401 && again);
		state('refused', 'bad');
	},
});
