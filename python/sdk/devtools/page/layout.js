// Positions and sizes. dagre lays out each open group separately, with its children as boxes, so a layout has at most a
// few dozen boxes and collapsed groups cost nothing. Positions of children are relative to the group's corner.

const HEAD = 34, PAD = 16, LINE = 17, BESIDE = 10;
const TITLE = '600 13.5px ', SUBTITLE = '12px ';

const widths = new Map();
let pen = null;

// The width of a string in the page's font.
function widthOf(text, font) {
  const key = font + text;
  if (!widths.has(key)) {
    pen = pen || document.createElement('canvas').getContext('2d');
    pen.font = font + getComputedStyle(document.body).fontFamily;
    widths.set(key, pen.measureText(text).width);
  }
  return widths.get(key);
}

function shortOp(op) {
  const name = op.split('::').pop();
  const parts = name.split('.');
  return parts.length > 1 && /^(aten|quantized_decomposed|dim_order_ops|prims|executorch_prim|higher_order)$/.test(parts[0])
    ? parts[1] : parts[0];
}

function clipped(text, most) {
  return text.length > most ? text.slice(0, most - 1) + '…' : text;
}

function titleOf(item) {
  if (item.children) return item.label + (item.about && item.about !== item.label ? ' · ' + item.about : '');
  return item.node.kind === 'op' ? shortOp(item.node.op) : item.node.name;
}

function subtitleOf(item, method) {
  const parts = item.children ? [counted(item.count, 'operator')] : [(item.node.outputs || []).join(', ')];
  if (method.times && item.time > 0) parts.push(readableTime(item.time, method.times.unit));
  return parts.filter(Boolean).join(' · ');
}

function measure(item, method) {
  item.title = clipped(titleOf(item), 38);
  item.subtitle = clipped(subtitleOf(item, method), 42);
  item.wide = widthOf(item.title, TITLE);
  item.width = Math.max(96, (item.children ? 50 : 32) + Math.max(item.wide, widthOf(item.subtitle, SUBTITLE)));
  item.height = item.subtitle ? 46 : 30;
}

function place(item, method) {
  measure(item, method);
  if (!item.children || !item.open) return;
  for (const child of item.children) place(child, method);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 22, ranksep: 34, edgesep: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const child of item.children) graph.setNode(child.id, { width: child.width, height: child.height });
  for (const [a, b, count] of item.edges) graph.setEdge(a.id, b.id, { weight: Math.min(count, 4) });
  const alone = item.children.filter(child => !(graph.nodeEdges(child.id) || []).length);
  // Boxes without edges are placed in rows of four.
  for (let i = 4; i < alone.length; i++) graph.setEdge(alone[i - 4].id, alone[i].id, { unseen: true });
  dagre.layout(graph);
  const size = graph.graph();
  const least = item.wide + BESIDE + widthOf(item.subtitle, SUBTITLE) + 50;
  const shift = Math.max(0, (least - size.width - 2 * PAD) / 2);
  for (const child of item.children) {
    const box = graph.node(child.id);
    child.x = box.x - child.width / 2 + PAD + shift;
    child.y = box.y - child.height / 2 + HEAD + PAD / 2;
  }
  item.lines = item.edges.map(([a, b, count]) => ({
    from: a, to: b, count,
    points: graph.edge(a.id, b.id).points.map(point => [point.x + PAD + shift, point.y + HEAD + PAD / 2]),
  }));
  item.width = size.width + 2 * PAD + 2 * shift;
  item.height = size.height + HEAD + 1.5 * PAD;
}

// The corner of an item in the whole graph; null if a group around it is collapsed.
function corner(item) {
  let x = 0, y = 0;
  for (let inner = item; inner.parent; inner = inner.parent) {
    if (!inner.parent.open) return null;
    x += inner.x;
    y += inner.y;
  }
  return [x, y];
}

// A smooth line that bends at the points.
function curve(points) {
  const text = ([x, y]) => x.toFixed(1) + ',' + y.toFixed(1);
  let path = 'M' + text(points[0]);
  for (let i = 1; i < points.length - 1; i++) {
    const [a, b] = [points[i], points[i + 1]];
    path += 'Q' + text(a) + ' ' + text(i === points.length - 2 ? b : [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]);
  }
  return points.length > 2 ? path : path + 'L' + text(points[1]);
}
