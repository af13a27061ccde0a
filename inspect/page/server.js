// What the page asks of its server: answers, streams, and the token that some of them need. All
// addresses are relative, so that the page works below a prefix. Streams are read with fetch and not
// by an EventSource, which cannot send the token.

const dialog = document.getElementById('token');
const stored = `token of ${location.pathname}`;
let asking = null, declined = false;

// Refusal is an answer of the server that is not the one asked for.
export class Refusal extends Error {
	constructor(status, answer) {
		super(answer?.error ?? `The server answers with status ${status}.`);
		this.status = status;
		this.at = answer?.at;
	}
}

export const token = () => sessionStorage.getItem(stored) ?? '';

// ask asks the user for the token, once for all who wait for it. It returns whether there is one now.
function ask(why) {
	return asking ??= new Promise(done => {
		const input = document.getElementById('token-value');
		document.getElementById('token-why').textContent = why;
		input.value = '';
		dialog.onclose = () => { asking = null; declined = !token(); done(!declined); };
		dialog.querySelector('form').onsubmit = e => {
			e.preventDefault();
			sessionStorage.setItem(stored, input.value.trim());
			dialog.close();
		};
		document.getElementById('token-cancel').onclick = () => dialog.close();
		dialog.showModal();
	});
}

// askAgain asks for a token that the user declined to give before.
export const askAgain = () => ask('This server shows its data to those who have its token.');

const address = (path, params) => params ? `${path}?${new URLSearchParams(params)}` : path;

// request asks until the token is right or the user gives up.
async function request(path, { params, body, signal } = {}) {
	if (body && !token() && !await ask('Controls need the token of this server.')) throw new Refusal(401, { error: 'Nothing was done: controls need the token.' });
	for (;;) {
		const sent = token();
		const headers = sent ? { Authorization: `Bearer ${sent}` } : {};
		if (body) headers['Content-Type'] = 'application/json';
		const answer = await fetch(address(path, params), { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body), signal });
		if (answer.ok) return answer;
		const refusal = new Refusal(answer.status, await answer.json().catch(() => null));
		if (answer.status !== 401) throw refusal;
		if (token() === sent) sessionStorage.removeItem(stored);
		if (!token() && ((declined && !body) || !await ask(sent ? 'The server does not accept this token.' : refusal.message))) throw refusal;
	}
}

export const get = async (path, params, signal) => (await request(path, { params, signal })).json();
export const post = async (path, body) => (await request(path, { body })).json();

// download saves a file, with the token where there is one: a plain link cannot send it.
export async function download(path, params, name) {
	const url = URL.createObjectURL(await (await request(path, { params })).blob());
	const link = document.createElement('a');
	link.href = url;
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

const eventMax = 64 << 20; // characters; a longer event is a fault

// events reads a stream of events and gives each to take(name, data), until it ends.
async function events(answer, take) {
	const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
	let parts = [], size = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return;
		parts.push(value);
		size += value.length;
		if (size > eventMax) throw new Error('an event is too long');
		if (!value.includes('\n')) continue;
		const blocks = parts.join('').split('\n\n'), rest = blocks.pop();
		[parts, size] = [[rest], rest.length];
		for (const block of blocks) {
			let name = 'message', data = '';
			for (const line of block.split('\n')) {
				if (line.startsWith('event:')) name = line.slice(6).trim();
				else if (line.startsWith('data:')) data += line.slice(5);
			}
			if (data) take(name, JSON.parse(data));
		}
	}
}

// stream keeps a stream open until the function that it returns is called. It closes it while the
// page is hidden, opens it again when it broke (on.broken), and where the server says no for good calls
// on.refused. on.quiet is how many milliseconds without an event count as broken.
export function stream(path, params, on) {
	let stop = null, ended = false, tries = 0, again = 0;
	async function run() {
		clearTimeout(again);
		if (ended || stop || document.hidden) return;
		const mine = stop = new AbortController();
		let watch = 0, why = '';
		const alive = () => { clearTimeout(watch); if (on.quiet) watch = setTimeout(() => mine.abort(), on.quiet); };
		try {
			alive();
			const answer = await request(path, { params, signal: mine.signal });
			await events(answer, (name, data) => { alive(); tries = 0; if (!mine.signal.aborted) try { on.event(name, data); } catch (fault) { reportError(fault); } });
		} catch (error) {
			why = error instanceof Refusal ? error.message : '';
			if (!ended && why && error.status < 500 && error.status !== 429) { ended = true; on.refused?.(error); }
		}
		clearTimeout(watch);
		if (stop !== mine || ended) return; // the page was hidden, or nobody wants it any more
		stop = null;
		on.broken?.(why);
		again = setTimeout(run, Math.min(5000, 500 * 2 ** tries++));
	}
	const seen = () => { if (document.hidden) { stop?.abort(); stop = null; } else { tries = 0; run(); } };
	document.addEventListener('visibilitychange', seen);
	run();
	return () => { ended = true; clearTimeout(again); stop?.abort(); document.removeEventListener('visibilitychange', seen); };
}
