// The panel with the details of the selected node or module.

function link(item, text) {
  return element('button', { type: 'button', class: 'link', onclick: () => { showTab('graph'); select(item); } }, text || titleOf(item));
}

function facts(pairs) {
  const list = element('dl', { class: 'facts' });
  for (const [name, ...values] of pairs) {
    const shown = values.filter(value => value !== null && value !== undefined && value !== '');
    if (shown.length) list.append(element('dt', {}, name), element('dd', {}, ...shown));
  }
  return list;
}

function listed(title, items, most = 12) {
  if (!items.length) return null;
  const list = element('ul', {}, ...items.slice(0, most).map(item => element('li', {}, item)));
  if (items.length > most) {
    const more = element('button', { type: 'button', class: 'link', onclick: () => {
      more.parentNode.remove();
      list.append(...items.slice(most).map(item => element('li', {}, item)));
    } }, `${items.length - most} more`);
    list.append(element('li', {}, more));
  }
  return element('section', {}, element('h3', {}, title), list);
}

function showDetails(item) {
  const panel = at('details');
  panel.replaceChildren(...(item ? (item.children ? groupDetails(item) : nodeDetails(item)) : overview()).filter(Boolean));
  panel.scrollTop = 0;
}

function overview() {
  const { method, tree } = state;
  const slow = tree.leaves.filter(leaf => leaf.time > 0).sort((a, b) => b.time - a.time).slice(0, 10);
  const key = (name, text) => element('li', {}, element('kbd', {}, name), ' ', text);
  return [
    element('h2', {}, titleOf(tree.root)),
    facts([
      ['method', method.method],
      ['operators', counted(tree.root.count, 'operator')],
      ['delegates', method.partitions.length ? delegateCounts(method) : 'none'],
      ['time', method.times ? `${readableTime(method.times.total, method.times.unit)}, mean of ${counted(method.times.runs, 'run')}` : 'not measured: pass an ETDump'],
    ]),
    state.recorded ? null : element('p', { class: 'note' }, 'The program alone does not contain modules and source lines: pass its ETRecord to see them.'),
    listed('Slowest', slow.map(leaf => timedLink(leaf))),
    element('section', {}, element('h3', {}, 'Keys'), element('ul', { class: 'keys' },
      key('/', 'search'), key('← ↑ → ↓', 'go to the next node'), key('Enter', 'expand or collapse'), key('Esc', 'to the module around it'),
      key('+ −', 'zoom'), key('0', 'show all'))),
  ];
}

function delegateCounts(method) {
  const counts = new Map();
  for (const call of method.partitions) counts.set(call.backend, (counts.get(call.backend) || 0) + 1);
  return [...counts].map(([backend, count]) => `${counted(count, 'call')} of ${backend}`).join(', ');
}

function timedLink(item) {
  const { times } = state.method;
  return element('span', {}, link(item), element('span', { class: 'dim' }, ` ${readableTime(item.time, times.unit)}, ${readableShare(item.time, times.total)}`));
}

function nodeDetails(leaf) {
  const { method } = state, { node } = leaf;
  const frames = (node.frames || []).map(number => method.frames[number]).reverse();  // innermost first
  const call = node.partition === undefined ? null : method.partitions[node.partition];
  const around = ancestors(leaf).filter(group => group.parent);
  const path = [];
  for (const group of around) path.push(path.length ? ' › ' : '', link(group, group.label));
  const events = method.times ? method.times.events.filter(event => event.nodes.includes(leaf.index) && (event.partition === undefined || event.partition === null || event.nodes.length === 1)) : [];
  return [
    element('h2', {}, titleOf(leaf)),
    facts([
      ['name', node.name],
      ['operator', node.kind === 'op' ? node.op : ''],
      ['runs in', node.kind !== 'op' ? '' : call ? `${call.backend} (instruction ${call.instruction})` : node.instruction === undefined ? 'no instruction of its own' : `a kernel (instruction ${node.instruction})`],
      ['module', ...path],
      ['makes', (node.outputs || []).join(', '), node.bytes ? ` (${readableBytes(node.bytes)})` : ''],
      ['time', events.length ? '' : method.times && node.kind === 'op' ? 'not measured by itself' : ''],
    ]),
    ...events.map(event => eventFacts(event, leaf)),
    leaf.gap ? gapFacts(leaf.gap) : null,
    refusals(method, node),
    listed('Source', frames.filter(isOwn).map(frame)),
    listed('Source, inside of libraries', frames.filter(found => !isOwn(found)).map(frame), 1),
    listed('Reads', leaf.sources.map(source => element('span', {}, link(source), element('span', { class: 'dim' }, ' ' + (source.node.outputs || []).join(', '))))),
    listed('Read by', leaf.users.map(user => link(user))),
    listed('Weights', (node.weights || []).map(number => weightLine(method.weights[number]))),
  ];
}

function weightLine(weight) {
  const about = [weight.type, readableBytes(weight.bytes), weight.state ? 'changed by the program' : ''].filter(Boolean).join(', ');
  return element('span', {}, element('code', {}, weight.name), element('span', { class: 'dim' }, ' ' + about));
}

function frame([file, line, name, code]) {
  const short = file.split(/[\\/]/).pop();
  return element('span', { class: 'frame' },
    element('span', { title: file }, `${short}:${line}`), element('span', { class: 'dim' }, ` in ${name}`), code ? element('code', {}, code) : null);
}

function eventFacts(event, leaf) {
  const { method, tree } = state, { times } = method;
  const others = event.nodes.filter(index => index !== leaf.index).map(index => tree.leaves[index]);
  return element('section', {}, element('h3', {}, 'Time'), facts([
    ['mean', `${readableTime(event.mean, times.unit)}, ${readableShare(event.mean, times.total)} of the call`],
    ['median', event.p50 === undefined ? '' : readableTime(event.p50, times.unit)],
    ['least, most', event.min === undefined ? '' : `${readableTime(event.min, times.unit)}, ${readableTime(event.max, times.unit)}`],
    ['event', event.name],
    ['together with', ...others.slice(0, 8).flatMap((other, i) => [i ? ', ' : '', link(other)])],
  ]));
}

function gapFacts(gap) {
  return element('section', {}, element('h3', {}, 'Difference from eager mode'), facts([
    ['signal to noise', `${scientific(gap.snr)} dB`], ['largest', scientific(gap.largest)], ['mean squared', scientific(gap.mse)],
  ]));
}

function refusals(method, node) {
  const found = (method.refusals || {})[node.name];
  return found ? listed('Why no backend took it', Object.entries(found).map(([backend, why]) => `${backend}: ${why || 'did not say'}`)) : null;
}

function groupDetails(group) {
  const { method } = state;
  const inside = leavesOf(group);
  const slow = inside.filter(leaf => leaf.time > 0).sort((a, b) => b.time - a.time).slice(0, 10);
  const by = new Map();
  for (const leaf of inside) if (leaf.node.kind === 'op') by.set(backendOf(method, leaf.node), (by.get(backendOf(method, leaf.node)) || 0) + 1);
  const call = group.partition === undefined ? null : method.partitions[group.partition];
  return [
    element('h2', {}, group.label),
    facts([
      ['class', group.about],
      ['path', group.path || ''],
      ['operators', String(group.count)],
      ['run in', [...by].map(([backend, count]) => `${backend}: ${count}`).join(', ')],
      ['payload', call ? readableBytes(call.bytes) : ''],
      ['weights', group.weights.size ? readableBytes(weightBytes(method, group)) : ''],
      ['time', method.times ? `${readableTime(group.time, method.times.unit)}, ${readableShare(group.time, method.times.total)} of the call` : ''],
    ]),
    element('p', {}, element('button', { type: 'button', onclick: () => { toggle(group); showDetails(group); } }, group.open ? 'Collapse' : 'Expand')),
    listed('Slowest inside', slow.map(timedLink)),
    listed('Contains', group.children.map(child => link(child)), 25),
  ];
}
