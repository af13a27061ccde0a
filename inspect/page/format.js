// Numbers, times and moments as people read them.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const exact = new Intl.NumberFormat('en', { maximumFractionDigits: 6 });

export const none = '–';
const missing = n => n === null || n === undefined || Number.isNaN(n);

export const count = n => missing(n) ? none : whole.format(n);
export const percent = part => missing(part) || !isFinite(part) ? none : `${(part * 100).toFixed(1)} %`;
export const ratio = n => missing(n) || !isFinite(n) ? none : `${n.toFixed(2)} ×`;

function scaled(n, units) {
	if (missing(n)) return none;
	let [, unit] = units[0], size = units[0][0];
	for (const [from, name] of units) if (Math.abs(n) >= from) [size, unit] = [from, name];
	return `${short.format(n / size)} ${unit}`;
}

export const time = ns => scaled(ns, [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's'], [60e9, 'min'], [3600e9, 'h']]);
export const bytes = n => scaled(n, [[1, 'B'], [1024, 'KiB'], [1024 ** 2, 'MiB'], [1024 ** 3, 'GiB']]);
export const clock = ms => new Date(ms).toLocaleTimeString('en-GB');
export const moment = ms => new Date(ms).toLocaleString('en-GB');

// value is a field's value in one line: numbers with at most six decimals, the rest as JSON.
export function value(v) {
	if (typeof v === 'number') return Number.isInteger(v) ? String(v) : exact.format(v);
	if (typeof v === 'string') return v;
	const text = v === undefined ? none : JSON.stringify(v);
	return text.length > 400 ? text.slice(0, 400) + '…' : text;
}

// steps are round numbers of a range, at most about n of them, for the marks of an axis.
export function steps(from, to, n) {
	const wish = (to - from) / Math.max(2, n), ten = 10 ** Math.floor(Math.log10(wish)), step = ten * [1, 2, 5, 10].find(m => ten * m >= wish);
	const all = [];
	for (let at = Math.ceil(from / step) * step; at <= to && all.length < 100; at += step) all.push(+at.toPrecision(9));
	return all;
}
