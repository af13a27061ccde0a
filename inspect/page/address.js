// The state of the page is in the hash of its address, so that a link restores it:
// #map?x=Position.X&entity=3:1047@5.

export function read() {
	const [view, query = ''] = location.hash.slice(1).split(/\?(.*)/s);
	return { view, params: new URLSearchParams(query) };
}

export function link(view, params) {
	const query = new URLSearchParams(params).toString().replaceAll('%3A', ':').replaceAll('%40', '@').replaceAll('%2C', ',');
	return `#${view}${query ? '?' + query : ''}`;
}

// write changes some of the state; empty values are left out. It leaves a step in the history where
// the user opened something, and none for each key pressed.
export function write(changes, step = false) {
	const { view, params } = read();
	for (const [name, value] of Object.entries(changes)) value === '' || value === null || value === undefined ? params.delete(name) : params.set(name, value);
	const to = link(view, params);
	if (to === location.hash) return;
	if (step) location.hash = to;
	else history.replaceState(null, '', to);
}
