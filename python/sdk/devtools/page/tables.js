// The views beside the graph: time, weights, numeric gap. Times and weights come from the tree of modules, whichever
// grouping the graph shows.

const ROWS = 40;

// columns: { name, value: row => sort key, show: row => text or element, numeric }
function sortable(title, columns, rows, sorted, descending = true) {
  const body = element('tbody');
  const table = element('table', {}, element('caption', {}, title), element('thead', {}, element('tr', {}, ...columns.map((column, i) =>
    !column.name ? element('td', { class: 'bars' }) : element('th', { scope: 'col', class: column.numeric ? 'n' : null }, element('button', { type: 'button', class: 'link', onclick: () => {
      descending = sorted === i ? !descending : Boolean(column.numeric);
      sorted = i;
      fill();
    } }, column.name))))), body);
  let most = ROWS;
  const more = element('button', { type: 'button', onclick: () => { most = Infinity; fill(); } }, `Show all ${rows.length}`);
  function fill() {
    const order = sorted === null ? rows.slice() : rows.slice().sort((a, b) => {
      const x = columns[sorted].value(a), y = columns[sorted].value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1);
    });
    [...table.tHead.rows[0].cells].forEach((head, i) => head.tagName === 'TH' && head.setAttribute('aria-sort', i !== sorted ? 'none' : descending ? 'descending' : 'ascending'));
    body.replaceChildren(...order.slice(0, most).map(row => element('tr', {}, ...columns.map(column =>
      element('td', { class: !column.name ? 'bars' : column.numeric ? 'n' : null }, column.show(row))))));
    more.hidden = rows.length <= most;
  }
  fill();
  return element('div', { class: 'table' }, table, more);
}

function bar(part, whole) {
  return element('div', { class: 'track', 'aria-hidden': 'true' },
    drawn('svg', { width: '100%', height: 10 }, drawn('rect', { class: 'bar', width: (whole > 0 ? 100 * part / whole : 0).toFixed(2) + '%', height: 10 })));
}

function modulesOf(method) {
  if (state.by === 'modules') return state.tree;
  const tree = buildTree(method, 'modules');
  addTimes(tree, method);
  return tree;
}

function whereOf(group) {
  return ancestors(group).slice(1).concat(group).filter(outer => !outer.isRun).map(outer => outer.label).join(' › ');
}

function showTables() {
  const { method } = state;
  const tree = modulesOf(method);
  // The graph may show other groups: a link to a module then goes to the group of this module around its first node, or
  // to that node.
  const target = item => {
    if (tree === state.tree) return item;
    const leaf = state.tree.leaves[item.children ? item.first : item.index];
    return item.children ? ancestors(leaf).find(group => group.path === item.path && group.about === item.about) || leaf : leaf;
  };
  at('panel-time').replaceChildren(...timeTables(method, tree, target));
  at('weights').replaceChildren(...weightTables(method, tree, target));
  at('panel-gap').replaceChildren(...gapTable(method, target));
}

function timeTables(method, tree, target) {
  const { times } = method;
  if (!times) return [element('p', {}, 'Nothing was measured. Run the program with an event tracer and pass the ETDump, and the ETRecord to see modules.')];
  const share = { name: 'share', numeric: true, value: row => row.time, show: row => readableShare(row.time, times.total) };
  const time = { name: 'time', numeric: true, value: row => row.time, show: row => readableTime(row.time, times.unit) };
  const bars = { name: '', value: row => row.time, show: row => bar(row.time, times.total) };
  const modules = tree.groups.filter(group => group.parent && !group.isRun && group.time > 0);
  const byOp = new Map();
  for (const leaf of tree.leaves) {
    if (leaf.time <= 0) continue;
    const key = leaf.node.op + '\n' + backendOf(method, leaf.node);
    const row = byOp.get(key) || { op: leaf.node.op, backend: backendOf(method, leaf.node), time: 0, count: 0 };
    row.time += leaf.time;
    row.count++;
    byOp.set(key, row);
  }
  const own = times.events.filter(event => event.partition !== undefined && event.partition !== null && event.mean > 0);
  const rest = [{ name: 'between instructions', time: times.rest }];
  const perCall = new Map();
  for (const event of own) perCall.set(event.partition, (perCall.get(event.partition) || 0) + event.mean);
  for (const [partition, spent] of perCall) {
    const call = method.partitions[partition];
    rest.push({ name: `${call.backend}, instruction ${call.instruction}: outside of its operators`, time: spent });
  }
  return [
    element('p', {}, `A call takes ${readableTime(times.total, times.unit)} (mean of ${counted(times.runs, 'run')}, with the event tracer on).`),
    modules.length ? sortable('By module, with the modules inside of it', [
      { name: 'module', value: whereOf, show: row => link(target(row), whereOf(row)) },
      { name: 'class', value: row => row.about, show: row => row.about },
      { name: 'operators', numeric: true, value: row => row.count, show: row => String(row.count) }, time, share, bars], modules, 3) : null,
    sortable('By operator', [
      { name: 'operator', value: row => row.op, show: row => element('code', {}, row.op) },
      { name: 'runs in', value: row => row.backend, show: row => row.backend },
      { name: 'calls', numeric: true, value: row => row.count, show: row => String(row.count) }, time, share, bars], [...byOp.values()], 3),
    sortable('By node', [
      { name: 'node', value: row => row.node.name, show: row => link(target(row), row.node.name) },
      { name: 'module', value: row => whereOf(row.parent), show: row => whereOf(row.parent) },
      { name: 'source', value: row => lineOf(method, row), show: row => lineOf(method, row) }, time, share, bars],
    tree.leaves.filter(leaf => leaf.time > 0), 3),
    sortable('Belongs to no node', [{ name: 'what', value: row => row.name, show: row => row.name }, time, share, bars], rest, 1),
  ].filter(Boolean);
}

function isOwn([file]) {
  return !/(site|dist)-packages|[\\/]torch[\\/]|^</.test(file);
}

// The innermost source line outside of PyTorch and other installed packages.
function lineOf(method, leaf) {
  const own = (leaf.node.frames || []).map(number => method.frames[number]).filter(isOwn);
  return own.length ? own.at(-1)[0].split(/[\\/]/).pop() + ':' + own.at(-1)[1] : '';
}

function weightTables(method, tree, target) {
  const used = new Map();
  for (const leaf of tree.leaves) for (const weight of leaf.node.weights || []) if (!used.has(weight)) used.set(weight, leaf);
  if (!used.size) return [];
  const total = [...used.keys()].reduce((sum, weight) => sum + method.weights[weight].bytes, 0);
  const size = { name: 'size', numeric: true, value: row => row.bytes, show: row => readableBytes(row.bytes) };
  const bars = { name: '', value: row => row.bytes, show: row => bar(row.bytes, total) };
  const modules = tree.groups.filter(group => group.parent && !group.isRun && group.weights.size).map(group => ({ group, bytes: weightBytes(method, group) }));
  const weights = [...used].map(([number, leaf]) => ({ ...method.weights[number], leaf }));
  return [
    element('p', {}, state.recorded ? `The weights of the model take ${readableBytes(total)} before backends pack them.` : `The weights of kernels take ${readableBytes(total)}.`),
    modules.length ? sortable('Weights by module, with the modules inside of it', [
      { name: 'module', value: row => whereOf(row.group), show: row => link(target(row.group), whereOf(row.group)) },
      { name: 'class', value: row => row.group.about, show: row => row.group.about }, size, bars], modules, 2) : null,
    sortable('Weights', [
      { name: 'name', value: row => row.name, show: row => element('code', {}, row.name) },
      { name: 'type', value: row => row.type, show: row => row.type },
      { name: 'read by', value: row => row.leaf.node.name, show: row => link(target(row.leaf), row.leaf.node.name) }, size, bars], weights, 3),
  ].filter(Boolean);
}

function gapTable(method, target) {
  const { gaps } = method;
  if (!gaps) return [element('p', {}, 'Nothing was compared. Run the program with a debug buffer, and pass it with the ETDump and the ETRecord to compare each layer with eager mode.')];
  const tree = state.tree;
  const rows = gaps.map((gap, order) => ({ ...gap, order, leaf: tree.leaves[gap.nodes[0]] }));
  const figure = (name, key) => ({ name, numeric: true, value: row => number(row[key]), show: row => scientific(row[key]) });
  return [
    element('p', {}, 'What the runtime computed against eager mode, in the order of the graph. A high signal-to-noise ratio is good; the first row where it drops is where to look.'),
    sortable('Layer by layer', [
      { name: '#', numeric: true, value: row => row.order, show: row => String(row.order + 1) },
      { name: 'node', value: row => row.leaf ? row.leaf.node.name : row.name, show: row => row.leaf ? link(target(row.leaf), row.leaf.node.name) : row.name },
      { name: 'source', value: row => row.leaf ? lineOf(method, row.leaf) : '', show: row => row.leaf ? lineOf(method, row.leaf) : '' },
      figure('signal to noise (dB)', 'snr'), figure('largest difference', 'largest'), figure('mean squared', 'mse')], rows, 0, false),
  ];
}
