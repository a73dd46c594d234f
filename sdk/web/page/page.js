// SPDX-License-Identifier: BSD-3-Clause
// Loads a program that is dropped, shows its methods, and runs and times them.
import { ExecuTorchError, LlmModule, Module, Runtime, ScalarType, Tag, Tensor, shutdown } from "./package/dist/esm/index.js";

const by = (id) => document.getElementById(id);
const MEAN = [0.485, 0.456, 0.406]; // of ImageNet, which vision models are trained with
const DEVIATION = [0.229, 0.224, 0.225];

let module;
let llm;
let messages = [];
let files = [];

function show(error) {
  by("error").hidden = error === undefined;
  if (error !== undefined) {
    by("error").textContent = error instanceof ExecuTorchError ? `${error.code}: ${error.message}${error.hint ? `\n${error.hint}` : ""}` : String(error);
  }
}

/** Runs the action of a button. Shows its error if it fails; the buttons are disabled meanwhile (but see answer()). */
async function attempt(body) {
  const buttons = document.querySelectorAll("button");
  buttons.forEach((button) => (button.disabled = true));
  show(undefined);
  try {
    await body();
  } catch (error) {
    show(error);
  } finally {
    buttons.forEach((button) => (button.disabled = false));
  }
}

async function load(chosen) {
  const program = chosen.find((file) => !file.name.endsWith(".ptd"));
  if (program === undefined) throw new ExecuTorchError("InvalidArgument", "expected a .pte file");
  files = [program, chosen.filter((file) => file.name.endsWith(".ptd"))];
  await module?.dispose();
  await llm?.dispose();
  module = llm = undefined;
  messages = [];
  by("program").hidden = by("language").hidden = true;
  by("conversation").replaceChildren();
  by("speed").textContent = "";
  module = await Module.load(program, { data: files[1] });
  const methods = await module.getMethods();
  by("name").textContent = `${program.name}, ${program.size.toLocaleString("en")} bytes`;
  by("method").replaceChildren(...methods.map((name) => new Option(name)));
  if (methods.includes("forward")) by("method").value = "forward";
  await describe();
  by("program").hidden = false;
  by("language").hidden = !methods.includes("get_vocab_size"); // metadata of language models
}

let inputs = [];

async function describe() {
  const meta = await module.getMethodMetadata(by("method").value);
  inputs = [];
  const rows = [];
  for (const what of ["input", "output"]) {
    const tensors = [...meta[`${what}TensorMeta`]];
    meta[`${what}Tags`].forEach((tag, i) => {
      const tensor = tag === Tag.Tensor ? tensors.shift() : undefined;
      const row = document.createElement("tr");
      const cells = [`${what} ${i}`, tag.name, tensor?.scalarType.name ?? "", tensor ? `[${tensor.sizes.join(", ")}]` : ""];
      cells.forEach((text) => (row.insertCell().textContent = text));
      const cell = row.insertCell();
      if (what === "input") {
        const field = document.createElement("input");
        field.value = tensor ? "random" : "0";
        field.setAttribute("aria-label", `value of input ${i}`);
        cell.append(field);
        inputs.push({ tag, tensor, field });
      }
      rows.push(row);
    });
  }
  by("signature").tBodies[0].replaceChildren(...rows);
  const bytes = meta.memoryPlannedBufferSizes.reduce((sum, size) => sum + size, 0);
  by("facts").textContent = `${meta.numInstructions} instructions, ${bytes.toLocaleString("en")} bytes of planned memory, ${
    meta.backends.length ? `backends: ${[...new Set(meta.backends)].join(", ")}` : "no backend"
  }`;
  by("result").textContent = "";
}

/** The picture as the input, normalised by channel. */
async function pictureTensor([, , height, width], file) {
  return module.imageToTensor(await createImageBitmap(file), { width, height, mean: MEAN, stdDev: DEVIATION });
}

async function values() {
  let picture = by("picture").files[0];
  const found = [];
  for (const { tag, tensor, field } of inputs) {
    const text = field.value.trim();
    if (tensor !== undefined && picture && tensor.sizes.length === 4 && tensor.sizes[1] === 3 && tensor.scalarType === ScalarType.Float) {
      found.push(await pictureTensor(tensor.sizes, picture));
      picture = undefined;
    } else if (tensor !== undefined) {
      const isRandom = text === "random";
      const count = tensor.sizes.reduce((product, size) => product * size, 1);
      const isReal = [ScalarType.Float, ScalarType.Double, ScalarType.Half, ScalarType.BFloat16].includes(tensor.scalarType);
      const next = () => (isRandom ? (isReal ? Math.random() : Math.floor(Math.random() * 2)) : Number(text));
      found.push(Tensor.fromArray(tensor.sizes, Array.from({ length: count }, next), tensor.scalarType, tensor.dimOrder));
    } else if (tag === Tag.String) found.push(text);
    else if (tag === Tag.Bool) found.push(text === "true");
    else found.push(text === "" ? null : Number(text));
  }
  return found;
}

function text(output, index) {
  if (!(output instanceof Tensor)) return `output ${index}: ${JSON.stringify(output, (_, value) => (typeof value === "bigint" ? String(value) : value))}`;
  const numbers = output.toNumbers();
  const order = [...numbers.keys()].sort((a, b) => numbers[b] - numbers[a]).slice(0, 5);
  const some = (indices) => indices.map((i) => `${i}: ${numbers[i].toPrecision(6)}`).join(", ");
  return `output ${index}: ${output.scalarType} [${output.sizes.join(", ")}]\n  first ${some([...numbers.keys()].slice(0, 8))}\n  largest ${some(order)}`;
}

async function run() {
  const all = await values();
  const start = performance.now();
  const outputs = await module.execute(by("method").value, all);
  const took = performance.now() - start;
  by("result").textContent = [`${took.toFixed(1)} ms`, ...outputs.map(text)].join("\n");
}

async function time() {
  const all = await values();
  const lines = [];
  for (const threads of [...new Set([1, (await runtime).threads])]) {
    const timed = await Module.load(files[0], { data: files[1], threads });
    const times = [];
    for (let i = 0; i < 23; i++) {
      const start = performance.now();
      await timed.execute(by("method").value, all);
      if (i >= 3) times.push(performance.now() - start);
    }
    await timed.dispose();
    times.sort((a, b) => a - b);
    lines.push(`${threads} ${threads === 1 ? "thread" : "threads"}: median ${times[10].toFixed(2)} ms, fastest ${times[0].toFixed(2)} ms`);
    by("result").textContent = lines.join("\n");
  }
}

function paragraph(role, content) {
  const added = document.createElement("p");
  added.className = role;
  added.textContent = content;
  by("conversation").append(added);
  return added;
}

/** Shows the model's answer to the prompt; without a chat template in the program, its continuation of the prompt. */
async function answer() {
  const content = by("prompt").value;
  if (content === "") return;
  llm ??= await LlmModule.load(files[0], { data: files[1] });
  const options = { temperature: Number(by("temperature").value), maxNewTokens: Number(by("most").value) };
  let pieces;
  try {
    await llm.applyChatTemplate({ messages: [...messages, { role: "user", content }], add_generation_prompt: true });
    pieces = llm.chat([...messages, { role: "user", content }], options);
  } catch (error) {
    if (error.code !== "NotFound") throw error;
    pieces = llm.generate(content, options);
  }
  by("prompt").value = "";
  paragraph("user", content);
  const written = paragraph("assistant", "");
  by("stop").disabled = false;
  let result = await pieces.next();
  for (; !result.done; result = await pieces.next()) written.textContent += result.value;
  messages.push({ role: "user", content }, { role: "assistant", content: written.textContent });
  const { promptTokens, generatedTokens, promptMs, generationMs } = result.value;
  const speed = generatedTokens > 1 && generationMs > 0 ? `, ${((generatedTokens - 1) / (generationMs / 1000)).toFixed(1)} tokens in a second` : "";
  by("speed").textContent = `${promptTokens} tokens read in ${promptMs} ms; ${generatedTokens} written${speed}`;
}

const runtime = Runtime.create().then((found) => {
  const { threads, operators, backends } = found;
  found.dispose();
  by("runtime").textContent = `${operators.length} operators, backends: ${backends.join(", ") || "none"}, ${threads} ${threads === 1 ? "thread" : "threads"}${
    globalThis.crossOriginIsolated ? "" : " (this page is not isolated from other origins)"
  }.`;
  document.documentElement.dataset.ready = "true";
  return { threads };
}, show);

by("files").addEventListener("change", (event) => attempt(() => load([...event.target.files])));
by("method").addEventListener("change", () => attempt(describe));
by("run").addEventListener("click", () => attempt(run));
by("time").addEventListener("click", () => attempt(time));
by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(answer);
});
by("stop").addEventListener("click", () => llm?.stop());
for (const name of ["dragover", "dragleave", "drop"]) {
  by("drop").addEventListener(name, (event) => {
    event.preventDefault();
    by("drop").classList.toggle("over", name === "dragover");
    if (name === "drop") attempt(() => load([...event.dataTransfer.files]));
  });
}
addEventListener("pagehide", () => shutdown());
