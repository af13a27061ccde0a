// Components and fields as queries and maps name them.

const plain = /^[\p{L}\p{N}_.\-]+$/u;
export const quoted = name => plain.test(name) ? name : '`' + name + '`';
export const named = (component, path) => quoted(component) + (path ? '.' + path : '');

// numbers are the fields that a map can have as axes: [{name, component, path}].
export const numbers = world => world.components.filter(c => c.framed).flatMap(c =>
	c.fields.filter(f => f.numeric).map(f => ({ name: named(c.name, f.path), component: c.name, path: f.path })));

// axes finds two fields that look like a place: an X and a Y of one component, best one that is named so.
export function axes(all) {
	const last = f => f.path.split('.').at(-1).toLowerCase(), before = f => f.path.slice(0, f.path.length - last(f).length);
	const pairs = all.filter(f => last(f) === 'x').flatMap(x =>
		['y', 'z'].map(name => all.find(y => y.component === x.component && before(y) === before(x) && last(y) === name)).filter(Boolean).slice(0, 1).map(y => [x, y]));
	const [x, y] = pairs.find(([x]) => /pos|place|location|coord/i.test(x.name)) ?? pairs[0] ?? [all[0], all[1] ?? all[0]];
	return [x?.name ?? '', y?.name ?? ''];
}
