// Buttons that change the world, what the page says about them, and the question before what cannot
// be taken back.
import { h } from './dom.js';
import { post } from './server.js';

const by = id => document.getElementById(id);
let timer = 0;

// say shows a line for some seconds, and says it to screen readers.
export function say(text, bad = false) {
	const el = by('said');
	el.hidden = false;
	el.className = bad ? 'bad' : '';
	el.textContent = text;
	clearTimeout(timer);
	timer = setTimeout(() => { el.hidden = true; }, bad ? 10_000 : 4000);
}

export const off = world => world.controls ? '' : 'Controls are off: the server was started without a token (inspect.Options.Token).';

// control is a button that posts what ask() gives, and shows the answer by then(). Without controls
// it says why it is off.
export function control(world, name, path, ask, then, props = {}) {
	const why = off(world);
	const button = h('button', { type: 'button', 'aria-disabled': why ? 'true' : null, title: why || null, ...props, click: async () => {
		if (why) return say(why, true);
		if (button.getAttribute('aria-busy')) return;
		button.setAttribute('aria-busy', 'true');
		try {
			const body = await ask();
			if (body) then(await post(path, body));
		} catch (error) { say(error.message, true); }
		button.removeAttribute('aria-busy');
	} }, name);
	return button;
}

// note says why controls are off, where they are.
export const note = world => off(world) && h('p', { class: 'note' }, off(world));

// sure asks before what cannot be taken back.
export function sure(what) {
	const dialog = by('sure');
	by('sure-what').textContent = what;
	return new Promise(done => {
		dialog.onclose = () => done(dialog.returnValue === 'yes');
		by('sure-yes').onclick = () => dialog.close('yes');
		by('sure-no').onclick = () => dialog.close('no');
		dialog.returnValue = 'no';
		dialog.showModal();
		by('sure-no').focus();
	});
}
