// Draws the graph, moves it, and stores the selection.

const state = { methods: [], method: null, tree: null, by: 'modules', colour: 'backend', selected: null, backends: [], items: new Map(), lines: [], x: 0, y: 0, zoom: 1 };

function showMethod(number) {
  state.method = state.methods[number];
  state.selected = null;  // its number belongs to another graph
  state.backends = [...new Set(state.method.partitions.map(call => call.backend))];
  rebuild();
}

function rebuild() {
  const kept = state.selected && !state.selected.children ? state.selected.index : null;
  state.tree = buildTree(state.method, state.by);
  addTimes(state.tree, state.method);
  addGaps(state.tree, state.method);
  state.selected = null;
  draw();
  fit();
  if (kept !== null) select(state.tree.leaves[kept]);
  else showDetails(null);
}

function draw() {
  const { tree, method } = state;
  place(tree.root, method);
  tree.root.x = tree.root.y = 0;
  state.items.clear();
  state.lines = [];
  const scene = drawn('g', { id: 'scene' }, drawItem(tree.root));
  const arrow = (id) => drawn('marker', { id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: 'userSpaceOnUse', orient: 'auto' },
    drawn('path', { d: 'M0,0 L8,4 L0,8 z' }));
  at('graph').replaceChildren(drawn('defs', {}, arrow('arrow'), arrow('arrow-on')), scene);
  move();
  mark();
}

function drawItem(item) {
  const open = item.children && item.open;
  const box = drawn('g', {
    transform: `translate(${item.x.toFixed(1)},${item.y.toFixed(1)})`,
    class: 'item ' + (item.children ? (open ? 'open' : 'closed') : item.node.kind) + ' ' + paint(item),
    id: item.id, role: item.children ? 'button' : 'img', 'aria-label': spoken(item), 'aria-expanded': item.children ? String(Boolean(item.open)) : null,
  });
  state.items.set(item.id, box);
  box.append(drawn('rect', { class: 'box', width: item.width.toFixed(1), height: item.height.toFixed(1), rx: item.children ? 8 : item.node.kind === 'op' ? 4 : 15 }));
  if (open) {
    box.append(drawn('text', { class: 'title', x: 36, y: 22 }, item.title), drawn('text', { class: 'sub', x: 36 + item.wide + BESIDE, y: 22 }, item.subtitle), sign(item));
    for (const line of item.lines) {
      const path = drawn('path', { class: 'line', d: curve(line.points), 'marker-end': 'url(#arrow)' });
      state.lines.push({ key: line.from.id + ' ' + line.to.id, path });
      box.append(path);
    }
    for (const child of item.children) box.append(drawItem(child));
    return box;
  }
  box.append(drawn('rect', { class: 'stripe', width: 7, height: item.height.toFixed(1), rx: 3 }));
  const left = item.children ? 36 : 18;
  box.append(drawn('text', { class: 'title', x: left, y: 20 }, item.title));
  if (item.subtitle) box.append(drawn('text', { class: 'sub', x: left, y: 20 + LINE }, item.subtitle));
  if (item.children) box.append(sign(item));
  return box;
}

function sign(item) {
  return drawn('g', { class: 'sign' }, drawn('rect', { x: 12, y: 8, width: 17, height: 17, rx: 3 }),
    drawn('path', { d: item.open ? 'M16,16.5h9' : 'M16,16.5h9M20.5,12v9' }));
}

// The classes that colour an item: its backend, its share of the time, or its gap.
function paint(item) {
  if (state.colour === 'time') return 'heat' + heat(item.time, hottest());
  if (state.colour === 'gap') return item.gap ? 'heat' + gapHeat(item.gap) : 'heat0';
  const found = [...item.backends];
  if (found.length > 1) return 'mixed';
  return found.length === 0 || found[0] === 'kernels' ? 'kernels' : 'backend' + state.backends.indexOf(found[0]) % 6;
}

function heat(value, most) {
  return most > 0 && value > 0 ? Math.max(1, Math.ceil(5 * Math.min(1, value / most))) : 0;
}

function hottest() {
  return Math.max(0, ...state.tree.leaves.map(leaf => leaf.time));
}

// By signal-to-noise ratio: 60 dB or more is explained by another order of summation; below 10 dB the value is wrong.
function gapHeat(gap) {
  const snr = number(gap.snr);
  return Number.isNaN(snr) ? 5 : snr >= 60 ? 1 : snr >= 40 ? 2 : snr >= 20 ? 3 : snr >= 10 ? 4 : 5;
}

function spoken(item) {
  const { method } = state;
  const parts = [titleOf(item), subtitleOf(item, method)];
  const backends = [...item.backends].join(' and ');
  if (backends) parts.push(backends);
  return parts.filter(Boolean).join(', ');
}

function move() {
  const scene = at('scene');
  if (scene) scene.setAttribute('transform', `translate(${state.x.toFixed(2)},${state.y.toFixed(2)}) scale(${state.zoom.toFixed(4)})`);
  at('graph').classList.toggle('far', state.zoom < 0.4);
}

function fit() {
  const { width, height } = at('graph').getBoundingClientRect();
  const root = state.tree.root;
  if (!width || !height) return;
  state.zoom = Math.min(1, (width - 24) / root.width, Math.max((height - 24) / root.height, 0.75));
  state.x = (width - root.width * state.zoom) / 2;
  state.y = Math.max(12, (height - root.height * state.zoom) / 2);
  move();
}

function showAll() {
  const { width, height } = at('graph').getBoundingClientRect();
  const root = state.tree.root;
  state.zoom = Math.min(1, (width - 24) / root.width, (height - 24) / root.height);
  state.x = (width - root.width * state.zoom) / 2;
  state.y = (height - root.height * state.zoom) / 2;
  move();
}

function zoomBy(factor, x, y) {
  const { width, height } = at('graph').getBoundingClientRect();
  x = x === undefined ? width / 2 : x;
  y = y === undefined ? height / 2 : y;
  const zoom = Math.min(4, Math.max(0.02, state.zoom * factor));
  state.x = x - (x - state.x) * zoom / state.zoom;
  state.y = y - (y - state.y) * zoom / state.zoom;
  state.zoom = zoom;
  move();
}

// Opens or collapses a group; it stays where it is on the screen.
function toggle(group, open) {
  const before = corner(group);
  group.open = open === undefined ? !group.open : open;
  if (!group.open && state.selected && ancestors(state.selected).includes(group)) select(group, false);
  draw();
  const after = corner(group);
  if (before && after) {
    state.x += (before[0] - after[0]) * state.zoom;
    state.y += (before[1] - after[1]) * state.zoom;
    move();
  }
}

function setAll(open) {
  for (const group of state.tree.groups) group.open = open || group === state.tree.root;
  if (state.selected && !corner(state.selected)) select(shown(state.selected), false);
  draw();
  if (open && state.selected) reveal(state.selected);
  else fit();
}

// The visible item that represents an item: the item itself, or the outermost collapsed group around it.
function shown(item) {
  return ancestors(item).find(group => !group.open) || item;
}

function select(item, bring = true) {
  if (item && bring && !corner(item)) {
    for (const group of ancestors(item)) group.open = true;
    draw();
  }
  state.selected = item;
  mark();
  if (item && bring) reveal(item);
  showDetails(item);
  if (item) say(spoken(item));
}

function mark() {
  const item = state.selected;
  for (const old of at('graph').querySelectorAll('.selected, .on')) old.classList.remove('selected', 'on');
  for (const { path } of state.lines) path.setAttribute('marker-end', 'url(#arrow)');
  if (!item) {
    at('graph').removeAttribute('aria-activedescendant');
    return;
  }
  at('graph').setAttribute('aria-activedescendant', item.id);
  state.items.get(item.id)?.classList.add('selected');
  const keys = new Set();
  const pair = (a, b) => {
    const [, x, y] = meeting(a, b);
    if (x && y) keys.add(x.id + ' ' + y.id);
  };
  if (!item.children) {
    for (const source of item.sources) pair(source, item);
    for (const user of item.users) pair(item, user);
  } else if (item.parent) {
    for (const [a, b] of item.parent.edges) if (a === item || b === item) keys.add(a.id + ' ' + b.id);
  }
  for (const { key, path } of state.lines) {
    if (!keys.has(key)) continue;
    path.classList.add('on');
    path.setAttribute('marker-end', 'url(#arrow-on)');
  }
}

// Moves the graph so that an item is seen, if it is not.
function reveal(item) {
  const place = corner(item);
  const { width, height } = at('graph').getBoundingClientRect();
  if (!place || !width) return;
  if (state.zoom < 0.5) zoomBy(0.8 / state.zoom);
  const left = state.x + place[0] * state.zoom, top = state.y + place[1] * state.zoom;
  const wide = Math.min(item.width, 300) * state.zoom, high = Math.min(item.height, 60) * state.zoom;
  if (left < 10 || left + wide > width - 10) state.x += width / 2 - left - wide / 2;
  if (top < 10 || top + high > height - 10) state.y += height / 3 - top;
  move();
}

// The next item in a direction: what an edge leads to, or else the nearest one.
function step(direction) {
  const from = state.selected;
  if (!from) return select(state.tree.root.children[0] || null);
  if (from.children && from.open && direction === 'down') return select(from.children[0]);
  const near = !from.children && direction === 'down' ? from.users : !from.children && direction === 'up' ? from.sources : [];
  const linked = near.map(shown).find(item => item !== from);
  if (linked) return select(linked);
  const center = item => {
    const [x, y] = corner(item);
    return [x + item.width / 2, y + Math.min(item.height, 46) / 2];
  };
  const here = center(from);
  let best = null, least = Infinity;
  for (const id of state.items.keys()) {
    const item = byId(id);
    if (item === from || (item.children && item.open)) continue;
    const there = center(item);
    const dx = there[0] - here[0], dy = there[1] - here[1];
    const along = { up: -dy, down: dy, left: -dx, right: dx }[direction];
    const across = Math.abs(direction === 'up' || direction === 'down' ? dx : dy);
    if (along > 4 && along + 2 * across < least) [best, least] = [item, along + 2 * across];
  }
  if (best) select(best);
}

function byId(id) {
  if (id[0] === 'n') return state.tree.leaves[Number(id.slice(1))];
  return state.tree.groups.find(group => group.id === id);
}

function watchPointer() {
  const svg = at('graph');
  const pointers = new Map();
  let moved = 0;
  const itemAt = event => {
    const box = event.target.closest ? event.target.closest('.item') : null;
    return box ? byId(box.id) : null;
  };
  svg.addEventListener('pointerdown', event => {
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    moved = 0;
  });
  svg.addEventListener('pointermove', event => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    const other = [...pointers].find(([id]) => id !== event.pointerId);
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (moved > 4 && !svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId);
    if (other) {
      const [x, y] = other[1], frame = svg.getBoundingClientRect();
      zoomBy(Math.hypot(now[0] - x, now[1] - y) / Math.max(1, Math.hypot(before[0] - x, before[1] - y)), x - frame.left, y - frame.top);
    } else if (moved > 4) {
      state.x += now[0] - before[0];
      state.y += now[1] - before[1];
      move();
    }
    pointers.set(event.pointerId, now);
  });
  for (const end of ['pointerup', 'pointercancel']) svg.addEventListener(end, event => pointers.delete(event.pointerId));
  svg.addEventListener('click', event => {
    if (moved > 4) return;
    const item = itemAt(event);
    if (item && item.children && event.target.closest('.sign')) toggle(item);
    else select(item === state.tree.root ? null : item, false);
  });
  svg.addEventListener('dblclick', event => {
    const item = itemAt(event);
    if (item && item.children && item !== state.tree.root && !event.target.closest('.sign')) toggle(item);
  });
  svg.addEventListener('wheel', event => {
    event.preventDefault();
    const frame = svg.getBoundingClientRect();
    zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
}
