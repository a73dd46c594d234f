// SPDX-License-Identifier: BSD-3-Clause
// Reads .pte files with Netron's modules, as its window does. Usage: node netron.mjs FOLDER_OF_NETRON FILE... Prints a
// line of JSON for each file: the operators of its graphs and of the payloads inside them.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, ...files] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, `${path.basename(name)}.js`)));
const base = await load('base');
const flatbuffers = await load('flatbuffers');
const executorch = await load('executorch');

class Context {
    constructor(file) {
        this.identifier = path.basename(file);
        this.data = new Uint8Array(fs.readFileSync(file));
    }

    async peek(type) {
        return type === 'flatbuffers.binary' ? flatbuffers.BinaryReader.open(this.data) : null;
    }

    async read() {
        return base.BinaryReader.open(this.data);
    }

    async require(name) {
        return load(name);
    }

    async asset(name) {
        return fs.readFileSync(path.join(folder, name), 'utf-8');
    }

    set(type, value) {
        this.type = type;
        this.value = value;
        return type;
    }
}

function* nodes(graphs, seen) {
    for (const graph of graphs) {
        for (const node of graph.nodes || []) {
            yield node;
            const inner = node.type && node.type.nodes ? [node.type] : [];
            if (!seen.has(node.type)) {
                seen.add(node.type);
                yield* nodes(inner, seen);
            }
        }
    }
}

for (const file of files) {
    const context = new Context(file);
    const factory = new executorch.ModelFactory();
    if (await factory.match(context) !== 'executorch') {
        throw new Error(`${file} is not recognised`);
    }
    const model = await factory.open(context);
    const names = [...nodes(model.modules, new Set())].map((node) => node.type.name);
    console.log(JSON.stringify({ file, format: model.format, names }));
}
