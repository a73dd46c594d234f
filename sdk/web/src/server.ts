// SPDX-License-Identifier: BSD-3-Clause
// The runtime behind messages: the code that runs in the worker of a page, or in this thread if there is no worker.
import { download, type DownloadOptions, type Source } from "./download.js";
import { ExecuTorchError, toPlain, type PlainError } from "./errors.js";
import type { ImageOptions, Pixels } from "./images.js";
import type { MethodMeta, TensorInfo } from "./metadata.js";
import type { Bytes } from "./memory.js";
import { Runtime, type LogLevel, type RuntimeOptions } from "./runtime.js";
import type { GenerationOptions, RuntimeLlm } from "./runtime_llm.js";
import type { LoadOptions, RuntimeModule } from "./runtime_module.js";
import { ScalarType, Tag, type TypedArray } from "./scalar_type.js";
import { Tensor } from "./tensor.js";
import type { Input, Output } from "./values.js";

/** A tensor in a message, and other values as they are. */
export interface PlainTensor {
  data: TypedArray;
  sizes: readonly number[];
  type: number;
  dimOrder: readonly number[];
}
export type Plain = { tensor: PlainTensor } | { list: Plain[] } | { value: Exclude<Input, Tensor> | Output };

export function toPlainValue(value: Input | Output): Plain {
  if (value instanceof Tensor) {
    return { tensor: { data: value.data, sizes: value.sizes, type: value.scalarType.value, dimOrder: value.dimOrder } };
  }
  return Array.isArray(value) ? { list: value.map(toPlainValue) } : { value: value as Exclude<Output, Tensor> };
}

export function fromPlainValue(plain: Plain): Input | Output {
  if ("tensor" in plain) {
    const { data, sizes, type, dimOrder } = plain.tensor;
    return new Tensor(data, sizes, ScalarType.of(type), dimOrder);
  }
  return "list" in plain ? (plain.list.map(fromPlainValue) as Output[]) : (plain.value as Input);
}

/** The metadata with numbers in place of the objects of dtypes and tags. */
export type PlainMeta = Record<string, unknown>;

export function toPlainMeta(meta: MethodMeta): PlainMeta {
  const tensors = (infos: TensorInfo[]): unknown[] => infos.map((info) => ({ ...info, scalarType: info.scalarType.value }));
  return {
    ...meta,
    inputTags: meta.inputTags.map((tag) => tag.value),
    outputTags: meta.outputTags.map((tag) => tag.value),
    inputTensorMeta: tensors(meta.inputTensorMeta),
    outputTensorMeta: tensors(meta.outputTensorMeta),
    attributeTensorMeta: tensors(meta.attributeTensorMeta),
  };
}

export function fromPlainMeta(plain: PlainMeta): MethodMeta {
  const tags = (name: string): Tag[] => (plain[name] as number[]).map((tag) => Tag.of(tag));
  const tensors = (name: string): TensorInfo[] =>
    (plain[name] as (Omit<TensorInfo, "scalarType"> & { scalarType: number })[]).map((info) => ({ ...info, scalarType: ScalarType.of(info.scalarType) }));
  return {
    ...(plain as unknown as MethodMeta),
    inputTags: tags("inputTags"),
    outputTags: tags("outputTags"),
    inputTensorMeta: tensors("inputTensorMeta"),
    outputTensorMeta: tensors("outputTensorMeta"),
    attributeTensorMeta: tensors("attributeTensorMeta"),
  };
}

export interface Request {
  id: number;
  /** A name of Server.calls. */
  call: string;
  args: unknown[];
  /** Memory of `args`, which goes back with the answer. */
  buffers?: ArrayBuffer[];
}
export type Reply =
  | { id: number; value: unknown; buffers: ArrayBuffer[] }
  | { id: number; error: PlainError; hasEnded: boolean; buffers: ArrayBuffer[] }
  | { id: number; part: unknown }
  | { log: [LogLevel, string] };

/** Functions of RuntimeLlm that a message names. */
type LlmCall = "prefill" | "prefillImage" | "prefillAudio" | "prefillSamples" | "applyChatTemplate" | "reset";

type Post = (reply: Reply, transfer?: Transferable[]) => void;

export class Server {
  private runtime: Runtime | undefined;
  private readonly modules = new Map<number, RuntimeModule>();
  private readonly llms = new Map<number, RuntimeLlm>();
  /** By module, the last call whose run waits for promises. The next call of the module begins when it has ended. */
  private readonly turns = new Map<number, Promise<unknown>>();
  private readonly aborts = new Map<number, AbortController>();
  private next = 1;

  /** `sharesInputs`: inputs are in the caller's memory, so that the caller may change them before the run begins. */
  constructor(
    private readonly post: Post,
    private readonly sharesInputs = false,
  ) {}

  /** Answers a request; never throws. */
  async answer({ id, call, args, buffers = [] }: Request): Promise<void> {
    try {
      const function_ = (this.calls as Record<string, (id: number, ...args: never[]) => unknown>)[call];
      const value = await function_!(id, ...(args as never[]));
      this.post({ id, value, buffers }, [...buffersOf(value), ...buffers]);
    } catch (error) {
      this.post({ id, error: toPlain(error), hasEnded: this.runtime?.failure !== undefined, buffers }, buffers);
    }
  }

  stop(): void {
    this.runtime?.dispose();
  }

  private running(): Runtime {
    if (this.runtime === undefined) throw new ExecuTorchError("InvalidState", "the runtime was not started");
    return this.runtime;
  }

  private module(id: number): RuntimeModule {
    const found = this.modules.get(id);
    if (found === undefined) throw new ExecuTorchError("InvalidState", "this module was disposed of");
    return found;
  }

  /** Calls `body` when earlier calls of the module have ended. */
  private inTurn<T>(id: number, body: (module: RuntimeModule) => T | Promise<T>): T | Promise<T> {
    const before = this.turns.get(id);
    const found = before === undefined ? body(this.module(id)) : before.then(() => body(this.module(id)));
    if (found instanceof Promise) {
      const done: Promise<unknown> = found
        .catch(() => {})
        .then(() => {
          if (this.turns.get(id) === done) this.turns.delete(id);
        });
      this.turns.set(id, done);
    }
    return found;
  }

  private llm(id: number): RuntimeLlm {
    const found = this.llms.get(id);
    if (found === undefined) throw new ExecuTorchError("InvalidState", "this language model was disposed of");
    return found;
  }

  /** Downloads the sources of call `id`, which "abort" ends. Returns what `load` makes of their bytes. */
  private async loaded<T>(id: number, sources: Source[], options: DownloadOptions, wantsProgress: boolean, load: (bytes: Bytes[]) => T): Promise<T> {
    const abort = new AbortController();
    this.aborts.set(id, abort);
    const onProgress = (part: { loaded: number; total: number }): void => this.post({ id, part });
    try {
      const settings = { ...options, signal: abort.signal, ...(wantsProgress ? { onProgress } : {}) };
      return load(await download(this.running(), sources, settings));
    } finally {
      this.aborts.delete(id);
    }
  }

  private readonly calls = {
    start: async (_id: number, options: RuntimeOptions) => {
      this.runtime = await Runtime.create({ ...options, onLog: (level, message) => this.post({ log: [level, message] }) });
      const { threads, operators, backends } = this.runtime;
      return { threads, operators, backends };
    },
    load: (id: number, program: Source, data: Source[], options: LoadOptions & DownloadOptions, wantsProgress: boolean) =>
      this.loaded(id, [program, ...data], options, wantsProgress, ([first, ...rest]) => {
        const { backendOptions = {}, shareMemory = false, etdump = false } = options;
        this.modules.set(this.next, this.running().Module.load(first!, { backendOptions, shareMemory, etdump, data: rest }));
        return this.next++;
      }),
    abort: (_id: number, load: number) => this.aborts.get(load)?.abort(),
    methods: (_id: number, module: number) => this.inTurn(module, (found) => found.getMethods()),
    meta: (_id: number, module: number, method: string) => this.inTurn(module, (found) => toPlainMeta(found.getMethodMetadata(method))),
    loadMethod: (_id: number, module: number, method: string) => this.inTurn(module, (found) => found.loadMethodAsync(method)),
    unloadMethod: (_id: number, module: number, method: string) => this.inTurn(module, (found) => found.unloadMethod(method)),
    execute: (_id: number, module: number, method: string, inputs: Plain[]) => {
      const mayChange = this.sharesInputs && (this.turns.has(module) || this.module(module).isLater(method));
      const values = (mayChange ? inputs.map(copyOf) : inputs).map(fromPlainValue) as Input[];
      return this.inTurn(module, async (found) => (await found.executeAsync(method, values)).map(toPlainValue));
    },
    image: (_id: number, _module: number, pixels: Pixels, options: ImageOptions) => toPlainValue(this.running().imageToTensor(pixels, options)),
    etdump: (_id: number, module: number) => this.inTurn(module, (found) => found.etdump()),
    free: (_id: number, module: number) =>
      this.inTurn(module, (found) => {
        found.delete();
        this.modules.delete(module);
      }),
    llmLoad: (id: number, sources: Source[], options: DownloadOptions & { hasTokenizer: boolean }, wantsProgress: boolean) =>
      this.loaded(id, sources, options, wantsProgress, ([program, ...data]) => {
        const tokenizer = options.hasTokenizer ? { tokenizer: data.pop()! } : {};
        this.llms.set(this.next, this.running().Llm.load(program!, { data, ...tokenizer }));
        return this.next++;
      }),
    llmGenerate: (id: number, llm: number, prompt: string, options: GenerationOptions, ends: Int32Array | undefined) =>
      this.llm(llm).generate(prompt, options, (part) => {
        this.post({ id, part });
        return ends === undefined || Atomics.load(ends, 0) === 0;
      }),
    llmCall: (_id: number, llm: number, name: LlmCall, ...args: never[]) => (this.llm(llm)[name] as (...args: never[]) => unknown)(...args),
    llmPosition: (_id: number, llm: number) => this.llm(llm).position,
    llmFree: (_id: number, llm: number) => {
      this.llms.get(llm)?.delete();
      this.llms.delete(llm);
    },
  };
}

function copyOf(plain: Plain): Plain {
  return "tensor" in plain ? { tensor: { ...plain.tensor, data: plain.tensor.data.slice() } } : plain;
}

/** The memory of outputs, which moves to the page without a copy. */
function buffersOf(value: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  const add = (plain: Plain): void => {
    if ("tensor" in plain) buffers.add(plain.tensor.data.buffer as ArrayBuffer);
    else if ("list" in plain) plain.list.forEach(add);
  };
  if (Array.isArray(value) && typeof value[0] === "object") (value as Plain[]).forEach(add);
  return [...buffers];
}
