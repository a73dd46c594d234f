// Elements and numbers as text. Everything that comes from a file is put in as text, never as markup.

const SVG = 'http://www.w3.org/2000/svg';

function at(id) {
  return document.getElementById(id);
}

// element('p', { class: 'dim', onclick: f }, 'text', child, ...)
function element(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

function readableBytes(count) {
  let unit = 'B';
  for (const larger of ['kB', 'MB', 'GB']) {
    if (count < 1000) break;
    count /= 1000;
    unit = larger;
  }
  return (unit === 'B' ? String(count) : count.toFixed(1)) + '\u00a0' + unit;
}

function readableTime(value, unit) {
  if (value === 0) return '0\u00a0' + unit;
  const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toFixed(digits) + '\u00a0' + unit;
}

function readableShare(part, whole) {
  return whole > 0 ? (100 * part / whole).toFixed(1) + '\u00a0%' : '';
}

// Numbers of JSON; infinity and NaN come as texts.
function number(value) {
  return typeof value === 'number' ? value : value === 'inf' ? Infinity : value === '-inf' ? -Infinity : NaN;
}

function scientific(value) {
  const found = number(value);
  if (!Number.isFinite(found)) return Number.isNaN(found) ? 'NaN' : found > 0 ? '∞' : '−∞';
  return found === 0 ? '0' : Math.abs(found) >= 0.01 && Math.abs(found) < 10000 ? found.toPrecision(3) : found.toExponential(2);
}

function counted(count, noun) {
  return count.toLocaleString('en') + '\u00a0' + noun + (count === 1 ? '' : 's');
}

// Announces a text to screen readers.
function say(text) {
  at('said').textContent = text;
}
