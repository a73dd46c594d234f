// The graph of a method as a tree of groups: modules or delegates around nodes. A leaf is
//   { id, index, node, parent, first }, a group { id, label, about, children, parent, first, open, edges }.
// `edges` of a group are those between its children: [child, child, number of node edges], one entry for each pair.

const MOST_CHILDREN = 60;  // more are split into runs of nodes, so that no layout is large
const RUN = 25;

function buildTree(method, by) {
  let numbers = 0;
  const group = (label, about, parent, first) =>
    ({ id: 'g' + numbers++, label, about, children: [], parent, first, open: false, edges: [], named: new Map() });
  const top = rootLabel(method);
  const root = group(top.label, top.about, null, 0);
  const leaves = method.nodes.map((node, index) => {
    let inside = root;
    for (const level of levels(method, node, by)) {
      let next = inside.named.get(level.key);
      if (!next) {
        next = group(level.label, level.about, inside, index);
        next.partition = level.partition;
        next.path = level.path;
        inside.named.set(level.key, next);
        inside.children.push(next);
      }
      inside = next;
    }
    const leaf = { id: 'n' + index, index, node, parent: inside, first: index };
    inside.children.push(leaf);
    return leaf;
  });
  split(root, group);
  connect(method, leaves);
  summarise(root, method);
  for (let only = root; only; only = only.children.length === 1 && only.children[0].children ? only.children[0] : null) {
    only.open = true;
  }
  openWhatFits(root);
  return { root, leaves, groups: groupsOf(root) };
}

function rootLabel(method) {
  const first = method.nodes.find(node => node.module !== undefined);
  if (!first) return { label: method.method, about: 'method' };
  let module = method.modules[first.module];
  while (module[0] >= 0) module = method.modules[module[0]];
  return { label: module[1] || module[2], about: module[1] ? module[2] : '' };
}

function levels(method, node, by) {
  const found = [];
  if (by === 'delegates' && node.partition !== undefined) {
    const call = method.partitions[node.partition];
    found.push({ key: 'p' + node.partition, label: call.backend, about: 'instruction ' + call.instruction,
      partition: node.partition });
  }
  if (by === 'none' || node.module === undefined) return found;
  const chain = [];
  for (let number = node.module; number >= 0; number = method.modules[number][0]) chain.unshift(number);
  let outer = '';
  for (const number of chain) {
    const [, path, kind] = method.modules[number];
    if (!path) continue;  // the model itself is the root
    const label = outer && path.startsWith(outer + '.') ? path.slice(outer.length + 1) : path;
    found.push({ key: 'm' + path + '\n' + kind, label, about: kind, path });
    outer = path;
  }
  return found;
}

// Runs of children, where there are too many to lay out at once.
function split(outer, group) {
  for (const child of outer.children) if (child.children) split(child, group);
  while (outer.children.length > MOST_CHILDREN) {
    const size = Math.max(RUN, Math.ceil(outer.children.length / MOST_CHILDREN));
    const runs = [];
    for (let start = 0; start < outer.children.length; start += size) {
      const part = outer.children.slice(start, start + size);
      const run = group('', '', outer, part[0].first);
      run.children = part;
      for (const child of part) child.parent = run;
      const last = leavesOf(part[part.length - 1]).at(-1);
      run.label = 'nodes ' + (part[0].first + 1) + '–' + (last.index + 1);
      run.isRun = true;
      runs.push(run);
    }
    outer.children = runs;
  }
}

function leavesOf(item) {
  return item.children ? item.children.flatMap(leavesOf) : [item];
}

function groupsOf(item) {
  return item.children ? [item, ...item.children.flatMap(groupsOf)] : [];
}

function ancestors(item) {
  const found = [];
  for (let outer = item.parent; outer; outer = outer.parent) found.unshift(outer);
  return found;
}

// The innermost group that contains both, and its two children that contain one each.
function meeting(a, b) {
  const x = [...ancestors(a), a], y = [...ancestors(b), b];
  let depth = 0;
  while (depth + 1 < x.length && depth + 1 < y.length && x[depth + 1] === y[depth + 1]) depth++;
  return [x[depth], x[depth + 1], y[depth + 1]];
}

function connect(method, leaves) {
  for (const leaf of leaves) leaf.users = [];
  for (const leaf of leaves) {
    leaf.sources = (leaf.node.inputs || []).map(index => leaves[index]);
    for (const source of leaf.sources) {
      source.users.push(leaf);
      const [group, a, b] = meeting(source, leaf);
      if (!a || !b || a === b) continue;
      const key = a.id + ' ' + b.id;
      group.pairs = group.pairs || new Map();
      const edge = group.pairs.get(key);
      if (edge) edge[2]++;
      else {
        group.pairs.set(key, [a, b, 1]);
        group.edges.push(group.pairs.get(key));
      }
    }
  }
}

// Counts, weights and backends of every group, from its leaves.
function summarise(item, method) {
  if (!item.children) {
    item.backends = new Set(item.node.kind === 'op' ? [backendOf(method, item.node)] : []);
    item.weights = new Set(item.node.weights || []);
    item.count = item.node.kind === 'op' ? 1 : 0;
    return;
  }
  item.backends = new Set();
  item.weights = new Set();
  item.count = 0;
  for (const child of item.children) {
    summarise(child, method);
    for (const backend of child.backends) item.backends.add(backend);
    for (const weight of child.weights) item.weights.add(weight);
    item.count += child.count;
  }
}

function backendOf(method, node) {
  return node.partition === undefined ? 'kernels' : method.partitions[node.partition].backend;
}

function weightBytes(method, item) {
  let sum = 0;
  for (const weight of item.weights) sum += method.weights[weight].bytes;
  return sum;
}

// Opens groups level by level, as long as at most 40 items are visible.
function openWhatFits(root) {
  let seen = root.children.length;
  let next = root.children.filter(child => child.children);
  while (next.length) {
    const more = next.reduce((sum, child) => sum + child.children.length, 0);
    if (seen + more > 40) return;
    seen += more;
    for (const child of next) child.open = true;
    next = next.flatMap(child => child.children.filter(inner => inner.children));
  }
}

// The time of an event counts for its first node, the main one. If the event has more than MANY nodes, or is a
// delegate's time outside its operators, it counts for the innermost group that contains its nodes.
const MANY = 8;

function addTimes(tree, method) {
  for (const item of [...tree.groups, ...tree.leaves]) item.time = 0;
  if (!method.times) return;
  for (const event of method.times.events) {
    const owner = ownerOf(tree, method, event);
    for (let item = owner; item; item = item.parent) item.time += event.mean;
  }
}

function ownerOf(tree, method, event) {
  const own = event.partition !== undefined && event.partition !== null;
  if (!own && event.nodes.length <= MANY) return tree.leaves[event.nodes[0]] || tree.root;
  const inside = own ? tree.leaves.filter(leaf => leaf.node.partition === event.partition) : event.nodes.map(index => tree.leaves[index]);
  if (inside.length === 1) return inside[0].parent;
  return inside.slice(1).reduce((around, leaf) => commonGroup(around, leaf), inside[0]) || tree.root;
}

function commonGroup(a, b) {
  const x = [...ancestors(a), a], y = [...ancestors(b), b];
  let depth = 0;
  while (depth + 1 < x.length && depth + 1 < y.length && x[depth + 1] === y[depth + 1]) depth++;
  return x[depth];
}

function addGaps(tree, method) {
  for (const gap of method.gaps || []) {
    for (const index of gap.nodes) tree.leaves[index].gap = gap;
  }
}
