// The page of the zone: it keeps what packets say, and draws it.

const side = 1000, sight = 80, tick = 100 // as the server has them; ms
const canvas = document.getElementById('zone'), pen = canvas.getContext('2d')
const form = document.getElementById('login'), state = document.getElementById('state')
const input = document.getElementById('name')

let seen = new Map() // things by slot
let me = null        // the thing that is the player
let socket = null
let wait = 1000      // before the next try, in ms

function join(name) {
  socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/play?name=${encodeURIComponent(name)}`)
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => { seen = new Map(); me = null }
  socket.onmessage = (m) => { wait = 1000; apply(new DataView(m.data), name); say() }
  socket.onclose = (e) => {
    socket = null
    if (e.code === 1008) { // the server says why, and trying again would not help
      state.textContent = e.reason
      form.hidden = false
      return
    }
    state.textContent = `The server is gone. Trying again in ${wait / 1000} s.`
    setTimeout(() => join(name), wait)
    wait = Math.min(wait * 2, 16000)
  }
}

// apply reads a packet, as Packet.AppendTo of package interest writes it.
function apply(m, name) {
  let at = 0
  const byte = () => m.getUint8(at++)
  const short = () => { at += 2; return m.getUint16(at - 2, true) }
  const uvarint = () => {
    for (let x = 0, unit = 1; ; unit *= 128) {
      const b = byte()
      x += (b & 127) * unit
      if (b < 128) return x
    }
  }
  const now = performance.now()
  uvarint() // the number: packets do not get lost here
  for (let n = uvarint(); n > 0; n--) {
    const slot = uvarint() >> 1
    if (seen.get(slot) === me) me = null
    seen.delete(slot)
  }
  while (at < m.byteLength) {
    const first = uvarint(), slot = first >> 1, comes = first & 1, bits = uvarint(), columns = bits >> 1
    if (comes) {
      at += 8 // the handle, which no command needs
      seen.set(slot, {})
    }
    const removed = bits & 1 ? uvarint() : 0
    const it = seen.get(slot)
    if (columns & 1) {
      const x = short() / 64, y = short() / 64
      const from = comes ? { x, y } : place(it, now)
      Object.assign(it, { fromX: from.x, fromY: from.y, x, y, since: now })
    }
    if (columns & 2) it.health = byte() / 255
    if (columns & 12) { // a monster or a player
      const length = byte()
      it.name = new TextDecoder().decode(new Uint8Array(m.buffer, at, length))
      at += length
    }
    if (columns & 8) it.score = uvarint()
    if (removed & 2) delete it.health
    if (removed & 8) delete it.score
    if (it.score !== undefined && it.name === name) me = it
  }
}

// place is where a thing is drawn: on its way to where it was said to be, for a tick.
function place(it, now) {
  const part = Math.min(1, (now - it.since) / tick)
  return { x: it.fromX + (it.x - it.fromX) * part, y: it.fromY + (it.y - it.fromY) * part }
}

function say() {
  const text = me
    ? `${me.name}: score ${me.score}, health ${Math.round(me.health * 100)} %, ${seen.size - 1} in sight`
    : 'You are away for some seconds.'
  if (state.textContent !== text) state.textContent = text
}

let scale = 1, view = { x: side / 2, y: side / 2 } // the place in the middle of the screen

function draw(now) {
  requestAnimationFrame(draw)
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
  }
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name)
  if (me) view = place(me, now)
  scale = Math.max(2, Math.min(width, height) / (2.1 * sight))
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.fillStyle = colour('--ground')
  pen.fillRect(0, 0, width, height)
  pen.setTransform(ratio, 0, 0, ratio, (width / 2 - view.x * scale) * ratio, (height / 2 - view.y * scale) * ratio)
  pen.lineWidth = 1
  for (let i = 0; i <= side; i += 20) {
    pen.strokeStyle = colour(i % side ? '--grid' : '--edge')
    line(i, 0, i, side)
    line(0, i, side, i)
  }
  if (!me) return
  pen.strokeStyle = colour('--edge')
  pen.beginPath()
  pen.arc(view.x * scale, view.y * scale, sight * scale, 0, 7)
  pen.stroke()
  pen.font = '12px system-ui, sans-serif'
  pen.textAlign = 'center'
  for (const it of seen.values()) {
    const at = place(it, now), x = at.x * scale, y = at.y * scale, player = it.score !== undefined
    const size = it.name === 'orc' ? 10 : 7
    pen.fillStyle = colour(it === me ? '--me' : player ? '--other' : `--${it.name}`)
    pen.beginPath()
    if (player) pen.arc(x, y, size, 0, 7)
    else pen.rect(x - size, y - size, 2 * size, 2 * size)
    pen.fill()
    if (it.health < 1) {
      pen.fillStyle = colour('--health')
      pen.fillRect(x - 12, y - size - 6, 24 * it.health, 3)
    }
    pen.fillStyle = colour('--text')
    pen.fillText(player ? `${it.name} ${it.score}` : it.name, x, y + size + 13)
  }
}

function line(x, y, toX, toY) {
  pen.beginPath()
  pen.moveTo(x * scale, y * scale)
  pen.lineTo(toX * scale, toY * scale)
  pen.stroke()
}

// walk tells the server where to walk to, and whether to fight there.
function walk(x, y, fight) {
  if (!socket || socket.readyState !== WebSocket.OPEN) return
  const m = new DataView(new ArrayBuffer(17)), inside = (v) => Math.min(Math.max(v, 0), side)
  m.setFloat64(0, inside(x), true)
  m.setFloat64(8, inside(y), true)
  m.setUint8(16, fight ? 1 : 0)
  socket.send(m)
}

canvas.addEventListener('pointerdown', (e) => {
  const x = view.x + (e.clientX - canvas.clientWidth / 2) / scale, y = view.y + (e.clientY - canvas.clientHeight / 2) / scale
  const now = performance.now()
  const on = [...seen.values()].some((it) => it.score === undefined && Math.hypot(place(it, now).x - x, place(it, now).y - y) * scale < 24)
  walk(x, y, on)
})

const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }
canvas.addEventListener('keydown', (e) => {
  const way = arrows[e.key]
  if (!way || !me) return
  e.preventDefault()
  walk(me.x + way[0] * 20, me.y + way[1] * 20, true)
})

form.addEventListener('submit', (e) => {
  e.preventDefault()
  form.hidden = true
  canvas.focus()
  join(input.value)
})

const asked = new URLSearchParams(location.search).get('name') // a link may have the name
if (asked) {
  input.value = asked
  form.requestSubmit()
}
requestAnimationFrame(draw)
