// Starts the page: views, search, keys, theme.

const TABS = ['graph', 'time', 'memory', 'sizes', 'gap', 'report'];

function showTab(name) {
  for (const tab of TABS) {
    const on = tab === name;
    at('tab-' + tab).setAttribute('aria-selected', String(on));
    at('tab-' + tab).tabIndex = on ? 0 : -1;
    at('panel-' + tab).hidden = !on;
  }
  // If the page has been scrolled down, scroll it back to the top of the panel.
  window.scrollTo(0, Math.min(window.scrollY, document.querySelector('header').offsetHeight));
}

function startTabs() {
  for (const name of TABS) at('tab-' + name).addEventListener('click', () => showTab(name));
  document.querySelector('[role=tablist]').addEventListener('keydown', event => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = TABS[(TABS.findIndex(name => at('tab-' + name) === document.activeElement) + by + TABS.length) % TABS.length];
    at('tab-' + next).focus();
    showTab(next);
    event.preventDefault();
  });
}

function startTheme() {
  const root = document.documentElement, button = at('theme');
  let chosen = null;
  // A page that is opened from a file may have no localStorage.
  try { chosen = localStorage.getItem('theme'); } catch { /* no stored theme: the system's is used */ }
  const order = ['auto', 'light', 'dark'];
  let now = order.includes(chosen) ? chosen : 'auto';
  const show = () => {
    if (now === 'auto') delete root.dataset.theme;
    else root.dataset.theme = now;
    button.textContent = { auto: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' }[now];
  };
  button.addEventListener('click', () => {
    now = order[(order.indexOf(now) + 1) % order.length];
    try { localStorage.setItem('theme', now); } catch { /* the theme is kept until the page is closed */ }
    show();
  });
  show();
}

function startSearch() {
  const field = at('search'), list = at('found');
  let items = [], current = -1;
  const close = () => {
    list.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
    current = -1;
  };
  const highlight = index => {
    current = index;
    [...list.children].forEach((entry, i) => entry.setAttribute('aria-selected', String(i === index)));
    if (index < 0) return;
    field.setAttribute('aria-activedescendant', 'found' + index);
    list.children[index].scrollIntoView({ block: 'nearest' });
  };
  const go = index => {
    const item = items[index];
    if (!item) return;
    close();
    showTab('graph');
    select(item);
    at('graph').focus();
  };
  field.addEventListener('input', () => {
    const { method, tree } = state;
    const wanted = field.value.trim().toLowerCase();
    if (!wanted) return close();
    const text = item => item.children ? `${item.label} ${item.about} ${item.path || ''}` : `${item.node.name} ${item.node.op} ${backendOf(method, item.node)} ${lineOf(method, item)}`;
    items = [...tree.groups.slice(1), ...tree.leaves].filter(item => text(item).toLowerCase().includes(wanted));
    const all = items.length;
    items = items.slice(0, 50);
    list.replaceChildren(...items.map((item, i) => element('li', { role: 'option', id: 'found' + i, 'aria-selected': 'false', onclick: () => go(i) },
      element('b', {}, item.children ? item.label : item.node.name), element('span', { class: 'dim' }, ' ' + (item.children ? item.about : [whereOf(item.parent), lineOf(method, item)].filter(Boolean).join(' · '))))));
    if (!all) list.append(element('li', { class: 'dim' }, 'nothing was found'));
    list.hidden = false;
    field.setAttribute('aria-expanded', 'true');
    say(counted(all, 'result'));
    highlight(items.length ? 0 : -1);
  });
  field.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown' && items.length) highlight((current + 1) % items.length);
    else if (event.key === 'ArrowUp' && items.length) highlight((current - 1 + items.length) % items.length);
    else if (event.key === 'Enter') go(current);
    else if (event.key === 'Escape') {
      if (list.hidden) at('graph').focus();
      close();
    } else return;
    event.preventDefault();
  });
  field.addEventListener('blur', () => setTimeout(() => { if (document.activeElement !== field) close(); }, 200));
}

function startKeys() {
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    at('search').focus();
    at('search').select();
    event.preventDefault();
  });
  at('graph').addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const item = state.selected;
    const arrows = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
    if (arrows[event.key]) step(arrows[event.key]);
    else if ((event.key === 'Enter' || event.key === ' ') && item && item.children) {
      toggle(item);
      showDetails(item);
      say(spoken(item) + (item.open ? ', expanded' : ', collapsed'));
    } else if (event.key === 'Escape') select(item && item.parent && item.parent.parent ? item.parent : null);
    else if (event.key === '+' || event.key === '=') zoomBy(1.25);
    else if (event.key === '-') zoomBy(0.8);
    else if (event.key === '0') showAll();
    else return;
    event.preventDefault();
  });
}

function showLegend() {
  const chip = (name, text) => element('span', { class: 'chip' }, drawn('svg', { width: 14, height: 14, class: 'item ' + name, 'aria-hidden': 'true' }, drawn('rect', { class: 'stripe', width: 14, height: 14, rx: 3 })), text);
  const { method } = state;
  const shown = { time: () => method.times ? [chip('heat1', 'least'), chip('heat3', ''), chip('heat5', 'most')] : ['not measured'],
    gap: () => method.gaps ? [chip('heat1', '≥ 60 dB'), chip('heat3', '20–40 dB'), chip('heat5', '< 10 dB')] : ['not compared'],
    backend: () => [...state.backends.map((backend, i) => chip('backend' + i % 6, backend)), chip('kernels', 'kernels'), chip('mixed', 'several')] }[state.colour]();
  at('legend').replaceChildren(...shown);
}

function changeMethod(number) {
  showMethod(number);
  showTables();
  showLegend();
}

function startTools() {
  at('group').addEventListener('change', event => { state.by = event.target.value; rebuild(); showTables(); });
  at('colour').addEventListener('change', event => { state.colour = event.target.value; draw(); showLegend(); });
  at('expand').addEventListener('click', () => setAll(true));
  at('collapse').addEventListener('click', () => setAll(false));
  at('zoom-in').addEventListener('click', () => zoomBy(1.25));
  at('zoom-out').addEventListener('click', () => zoomBy(0.8));
  at('fit').addEventListener('click', showAll);
  at('method').addEventListener('change', event => changeMethod(Number(event.target.value)));
  at('panel-memory').addEventListener('click', event => {
    const instruction = event.target.dataset && event.target.dataset.instruction;
    if (instruction === undefined) return;
    const shown = state.methods.findIndex(method => method.method === event.target.closest('[data-method]').dataset.method);
    if (shown >= 0 && state.methods[shown] !== state.method) {
      at('method').value = String(shown);
      changeMethod(shown);
    }
    const leaf = state.tree.leaves.find(found => found.node.instruction === Number(instruction));
    if (leaf) { showTab('graph'); select(leaf); }
  });
}

function start() {
  const data = JSON.parse(at('data').textContent);
  state.methods = data.methods;
  state.recorded = data.recorded;
  data.methods.forEach((method, i) => at('method').append(element('option', { value: i }, method.method)));
  at('method-choice').hidden = data.methods.length < 2;
  startTheme();
  startTabs();
  startSearch();
  startKeys();
  startTools();
  watchPointer();
  const measured = Math.max(0, data.methods.findIndex(method => method.times));
  at('method').value = String(measured);
  showTab('graph');
  showMethod(measured);
  showTables();
  showLegend();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
