// SPDX-License-Identifier: BSD-3-Clause
// Language models: tests/data/make_language_model.py makes the model, and says what eager mode makes of the prompt.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { et, read } from "./support.mjs";

const { LlmModule, Module } = et;
const PROMPT = "Once upon a time";
const EAGER = "pDl*!Vn8{l9W{l9W{l9W";
const GREEDY = { temperature: 0, maxNewTokens: 20 };
const fails = (code, words) => (error) => error instanceof et.ExecuTorchError && error.code === code && error.message.includes(words);
const load = (options) => LlmModule.load(read("language_model.pte"), options);
after(() => et.shutdown());

async function textOf(answer) {
  let text = "";
  for await (const piece of answer) text += piece;
  return text;
}

/** The tokenizer of the model: each letter is a token. */
function letters() {
  const vocab = Object.fromEntries(Array.from({ length: 95 }, (_, i) => [String.fromCharCode(32 + i), i]));
  const split = { type: "Split", pattern: { Regex: "." }, behavior: "Isolated", invert: false };
  return { pre_tokenizer: split, model: { type: "WordLevel", vocab, unk_token: "?" }, decoder: { type: "Fuse" } };
}

for (const worker of [true, false]) {
  const where = worker ? "in a worker" : "in this thread";
  for (const threads of [1, 2]) {
    test(`the greedy answer is that of eager mode, ${where}, with ${threads} threads`, async () => {
      const llm = await load({ worker, threads });
      const pieces = [];
      for await (const piece of llm.generate(PROMPT, GREEDY)) pieces.push(piece);
      assert.equal(pieces.join(""), EAGER);
      assert.equal(pieces.length, 20);
      assert.equal(await llm.position(), 36);
      await llm.dispose();
      await llm.dispose();
      await assert.rejects(llm.position(), fails("InvalidState", "disposed"));
    });
  }

  test(`a conversation goes on until it is reset, ${where}`, async () => {
    const llm = await load({ worker });
    const part = { ...GREEDY, maxNewTokens: 8 };
    assert.equal(await textOf(llm.generate(PROMPT, part)), EAGER.slice(0, 8));
    assert.equal(await textOf(llm.generate("", part)), EAGER.slice(8, 16));
    await llm.reset();
    assert.equal(await llm.position(), 0);
    await llm.prefill(PROMPT);
    assert.equal(await llm.position(), 16);
    assert.equal(await textOf(llm.generate("", part)), EAGER.slice(0, 8));
    await llm.dispose();
  });
}

test("statistics are what an answer returns", async () => {
  const llm = await load();
  const answer = llm.generate(PROMPT, GREEDY);
  let result = await answer.next();
  while (!result.done) result = await answer.next();
  const stats = result.value;
  assert.equal(stats.promptTokens, 16);
  assert.equal(stats.generatedTokens, 20);
  for (const name of ["loadMs", "promptMs", "generationMs", "samplingMs"]) assert.ok(stats[name] >= 0 && stats[name] < 60000, name);
  await llm.dispose();
});

test("times in statistics are milliseconds of the time that passed", async () => {
  const llm = await load({ worker: false });
  const start = performance.now();
  let found = 0;
  while (performance.now() - start < 200) {
    await llm.reset();
    const answer = llm.generate(PROMPT, { ...GREEDY, maxNewTokens: 100 });
    let result = await answer.next();
    while (!result.done) result = await answer.next();
    found += result.value.promptMs + result.value.generationMs;
  }
  const passed = performance.now() - start;
  assert.ok(found > passed / 10 && found < passed, `${found} of ${passed}`);
  await llm.dispose();
});

test("settings change the answer, and those that are unknown or wrong are errors", async () => {
  const llm = await load();
  const answer = async (options) => {
    await llm.reset();
    return textOf(llm.generate(PROMPT, { ...GREEDY, ...options }));
  };
  assert.equal(await answer({ echo: true }), PROMPT + EAGER);
  assert.equal(await answer({ stop: EAGER[5] }), EAGER.slice(0, EAGER.indexOf(EAGER[5])));
  assert.equal(await answer({ stop: ["no", EAGER[6]] }), EAGER.slice(0, EAGER.indexOf(EAGER[6])));
  assert.ok(!(await answer({ logitBias: { [EAGER.charCodeAt(0) - 32]: -100 } })).includes(EAGER[0]));
  const random = { temperature: 1.5, topP: 1 };
  const first = await answer({ ...random, seed: -1 });
  assert.equal(await answer({ ...random, seed: 0xffffffffffffffffn }), first);
  assert.notEqual(await answer({ ...random, seed: 2 }), first);
  await assert.rejects(answer({ temprature: 1 }), fails("InvalidArgument", "there is no option temprature; there are: maxNewTokens"));
  await assert.rejects(answer({ maxNewTokens: 1.5 }), fails("InvalidArgument", "expected an integer for the option maxNewTokens, found 1.5"));
  await assert.rejects(answer({ stop: 1 }), fails("InvalidArgument", "expected a text"));
  await assert.rejects(answer({ logitBias: { x: 1 } }), fails("InvalidArgument", "tokens' numbers"));
  await assert.rejects(answer({ topP: 2 }), fails("InvalidArgument", "top"));
  await assert.rejects(textOf(llm.generate("x".repeat(100), GREEDY)), fails("InvalidArgument", "the prompt is too long: it has 100 tokens"));
  assert.equal(await answer({}), EAGER);
  await llm.dispose();
});

test("an answer ends where its reader leaves it, stops it or aborts it", async () => {
  const llm = await load();
  const long = { temperature: 0, maxNewTokens: 48 };
  let text = "";
  for await (const piece of llm.generate(PROMPT, long)) {
    text += piece;
    if (text.length === 3) break;
  }
  assert.equal(text, EAGER.slice(0, 3));
  assert.ok((await llm.position()) >= 16 + 3);
  for (const end of [() => llm.stop(), (abort) => abort.abort()]) {
    // On a busy machine, the worker may have written the whole answer before it gets the message.
    for (let attempt = 0; attempt < 50; attempt++) {
      await llm.reset();
      const abort = new AbortController();
      const answer = llm.generate(PROMPT, { ...long, signal: abort.signal });
      const first = answer.next();
      end(abort);
      text = (await first).value;
      for await (const piece of answer) text += piece;
      if (text.length < 48) break;
    }
    assert.ok(text.length < 48 && EAGER.startsWith(text.slice(0, 20)), text);
    // The context has the tokens that were read.
    assert.equal(await llm.position(), 16 + text.length);
  }
  await llm.reset();
  assert.equal((await textOf(llm.generate(PROMPT, { ...long, signal: AbortSignal.abort() }))).length, 1);
  await llm.reset();
  assert.equal(await textOf(llm.generate(PROMPT, GREEDY)), EAGER);
  await llm.dispose();
});

test("a chat has the template's prompts, and computes only what is new", async () => {
  const llm = await load();
  assert.equal(await llm.applyChatTemplate({ messages: [{ role: "user", content: "Hi" }] }), "<user>Hi");
  // As Python writes them.
  for (const [number, text] of [[0.1, "0.1"], [2.5, "2.5"], [1e22, "1e+22"], [1e-7, "1e-07"], [0.1 + 0.2, "0.30000000000000004"], [5e-324, "5e-324"], [7, "7"]]) {
    assert.equal(await llm.applyChatTemplate({ messages: [{ role: "user", content: number }] }), `<user>${text}`);
  }
  await assert.rejects(llm.applyChatTemplate({ messages: 5 }), fails("InvalidArgument", ""));
  const options = { temperature: 0, maxNewTokens: 6 };
  const messages = [{ role: "user", content: "Hi" }];
  const first = await textOf(llm.chat(messages, options));
  await llm.reset();
  assert.equal(await textOf(llm.generate("<user>Hi", options)), first);
  // The template joins messages, so that this conversation begins with the text of the context.
  const more = "<user>Hi" + first + "<user>And?";
  await llm.reset();
  const expected = await textOf(llm.generate(more, options));
  await llm.reset();
  await textOf(llm.chat(messages, options));
  const before = await llm.position();
  const answer = llm.chat([{ role: "user", content: "Hi" + first }, { role: "user", content: "And?" }], options);
  let text = "";
  let result = await answer.next();
  for (; !result.done; result = await answer.next()) text += result.value;
  assert.equal(text, expected);
  assert.equal(result.value.promptTokens, "<user>And?".length);
  assert.equal(await llm.position(), before + "<user>And?".length + 6);
  // Another conversation begins anew.
  await textOf(llm.chat([{ role: "user", content: "Yo" }], options));
  assert.equal(await llm.position(), "<user>Yo".length + 6);
  await llm.dispose();
});

test("a tokenizer in a separate file gives the same text", async () => {
  const tokenizer = new TextEncoder().encode(JSON.stringify(letters()));
  const llm = await load({ tokenizer });
  assert.equal(await textOf(llm.generate(PROMPT, GREEDY)), EAGER);
  await llm.dispose();
  await assert.rejects(load({ tokenizer: new TextEncoder().encode("{") }), fails("InvalidArgument", "the tokenizer cannot be loaded"));
});

test("programs that are not language models are refused, and the runtime goes on", async () => {
  const fromBytes = (bytes) => LlmModule.load(bytes);
  await assert.rejects(fromBytes(read("corpus/add/model.pte")), fails("InvalidArgument", "contains no tokenizer"));
  await assert.rejects(fromBytes(read("errors.json")), fails("InvalidProgram", ""));
  await assert.rejects(LlmModule.load("/nowhere.pte"), fails("AccessFailed", "/nowhere.pte"));
  await assert.rejects(LlmModule.load(undefined), fails("InvalidArgument", "expected a program's address"));
  const module = await Module.load(read("language_model.pte"), { worker: true });
  assert.ok((await module.getMethods()).includes("forward"));
  const llm = await load();
  assert.equal(await textOf(llm.generate(PROMPT, GREEDY)), EAGER);
  await llm.dispose();
  await module.dispose();
});

test("pictures and sound become part of the context", async () => {
  const numbers = (count) => Uint8Array.from({ length: count }, (_, i) => (i * 37) % 256);
  for (const name of ["llava", "voxtral"]) {
    const tokens = new TextDecoder().decode(read(`multimodal/${name}.expected`)).trim().split(/\s+/).slice(0, 8);
    const expected = tokens.map((token) => String.fromCharCode(Number(token) + 32)).join("");
    const llm = await LlmModule.load(read(`multimodal/${name}.pte`));
    await llm.prefill("ab");
    if (name === "llava") {
      const pixels = numbers(3 * 28 * 28);
      await assert.rejects(llm.prefillImage(pixels, { width: 28, height: 29 }), fails("InvalidArgument", "expected 2436 elements for the sizes, found 2352"));
      await assert.rejects(llm.prefillImage(numbers(4 * 28 * 28), { width: 28, height: 28, channels: 4 }), fails("InvalidArgument", "takes 3 x 28 x 28"));
      await assert.rejects(llm.prefillAudio(new Float32Array(3200), { bins: 16, frames: 200 }), fails("NotSupported", "takes no sound"));
      await llm.prefillImage(pixels, { width: 28, height: 28 });
    } else {
      await assert.rejects(llm.prefillSamples(new Float32Array(100)), fails("NotSupported", "front end"));
      await llm.prefillAudio(Float32Array.from(numbers(3200), (number) => number / 256), { bins: 16, frames: 200 });
    }
    assert.equal(await textOf(llm.generate("cd", { temperature: 0, maxNewTokens: 8 })), expected);
    await llm.dispose();
  }
});

test("language models that are loaded again and again leave the memory flat", async () => {
  const plain = await et.Runtime.create({ threads: 1 });
  assert.throws(() => plain.Llm.load(read("language_model.pte")), fails("NotSupported", "start it with { llm: true }"));
  assert.equal(plain.failure, undefined);
  plain.dispose();
  const runtime = await et.Runtime.create({ threads: 1, llm: true });
  const bytes = read("language_model.pte");
  let size = 0;
  for (let i = 0; i < 40; i++) {
    const llm = runtime.Llm.load(bytes);
    let text = "";
    llm.generate("ab", { temperature: 0, maxNewTokens: 3 }, (piece) => void (text += piece));
    assert.equal(text.length, 3);
    assert.throws(() => llm.generate("ab", { temperature: 0, maxNewTokens: 3 }, () => { throw new Error("mine"); }), /mine/);
    llm.delete();
    if (i === 10) size = runtime.memoryBytes;
  }
  assert.equal(runtime.memoryBytes, size);
  runtime.dispose();
});

test("values that are not texts, JSON or options are refused, and the runtime goes on", async () => {
  const llm = await load();
  const round = { messages: [] };
  round.messages.push(round);
  for (const variables of [round, { messages: [], number: 1n }]) {
    await assert.rejects(llm.applyChatTemplate(variables), fails("InvalidArgument", "cannot be written as JSON"));
  }
  await assert.rejects(llm.applyChatTemplate(undefined), fails("InvalidArgument", "expected a text, found undefined"));
  await assert.rejects(textOf(llm.generate(7, GREEDY)), fails("InvalidArgument", "expected a text, found number"));
  await assert.rejects(textOf(llm.generate(PROMPT, { seed: 2n ** 64n })), fails("InvalidArgument", "expected an integer of 64 bits for the option seed"));
  await assert.rejects(LlmModule.load(new ArrayBuffer(8), { tokeniser: "x" }), fails("InvalidArgument", "there is no option tokeniser"));
  await assert.rejects(Module.load(new ArrayBuffer(8), { theads: 2 }), fails("InvalidArgument", "there is no option theads"));
  assert.equal(await textOf(llm.generate(PROMPT, GREEDY)), EAGER);
  await llm.dispose();
});
