// SPDX-License-Identifier: BSD-3-Clause
// The runtime in this thread: calls return when they are done. Module (module.ts) has the same calls as promises, and runs
// them in a worker of a page.
import { canShareMemory, hasRelaxedSimd, processorCount } from "./environment.js";
import { checkOptions, ExecuTorchError } from "./errors.js";
import { imageToTensor, pixelsOf, type ImageOptions, type ImageSource } from "./images.js";
import { locations } from "./locations.js";
import { RuntimeMemory, type Bytes } from "./memory.js";
import { compile, Native } from "./native.js";
import { RuntimeLlm, type LlmLoadOptions } from "./runtime_llm.js";
import { RuntimeModule, type LoadOptions } from "./runtime_module.js";
import { ScalarType } from "./scalar_type.js";
import { elementCount, Tensor } from "./tensor.js";

export type LogLevel = "debug" | "info" | "error";
const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "error"];
const MOST_THREADS = 64;

export interface RuntimeOptions {
  /** Where executorch.wasm is, or its bytes; by default beside the package, and executorch-relaxed.wasm where the engine has relaxed SIMD. */
  wasm?: string | URL | BufferSource | WebAssembly.Module;
  /** Whether it runs language models, which need the larger module executorch-llm.wasm. */
  llm?: boolean;
  /** Threads of kernels and backends: by default one for each processor, at most 8, and 1 where memory cannot be shared. */
  threads?: number;
  /**
   * Receives the log. Without it the console does if `logLevel` is given; otherwise a Runtime writes fatal lines there, a
   * Module none, as errors are thrown.
   */
  onLog?: (level: LogLevel, message: string) => void;
  /** The least severe lines that are logged: by default "error". */
  logLevel?: LogLevel;
}

const OPTIONS: Record<keyof Required<RuntimeOptions>, true> = { wasm: true, llm: true, threads: true, onLog: true, logLevel: true };

/** The number of threads that a runtime is started with. */
export function threadCount(wanted: number | undefined): number {
  if (wanted !== undefined && (!Number.isInteger(wanted) || wanted < 1 || wanted > MOST_THREADS)) {
    throw new ExecuTorchError("InvalidArgument", `expected a number of threads from 1 to ${MOST_THREADS}, found ${wanted}`);
  }
  const usable = canShareMemory ? (wanted ?? Math.min(processorCount(), 8)) : 1;
  if (usable < (wanted ?? 1)) noteIsolation(wanted!);
  return usable;
}

let isIsolationNoted = false;
function noteIsolation(wanted: number): void {
  if (isIsolationNoted) return;
  isIsolationNoted = true;
  console.warn(
    `executorch: ${wanted} threads were asked for, and one is used, because this page is not isolated from other origins: serve it ` +
      "with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp",
  );
}

/** The package's module for this engine. */
function ownModule(llm: boolean): URL {
  const places = locations();
  if (hasRelaxedSimd()) return llm ? places.relaxedLlmWasm() : places.relaxedWasm();
  return llm ? places.llmWasm() : places.wasm();
}

/** A tensor in the memory of the runtime, which runs use without a copy. */
class NativeTensor extends Tensor {
  private readonly memory: RuntimeMemory;

  constructor(memory: RuntimeMemory, sizes: readonly number[], type: ScalarType) {
    super(new type.array(memory.native.memory.buffer, memory.bytes.byteOffset, elementCount(sizes)), sizes, type);
    this.memory = memory;
    finalization.register(this, () => memory.delete(), this);
  }

  private isFreed = false;
  override get isDeleted(): boolean {
    return this.isFreed;
  }

  override delete(): void {
    finalization.unregister(this);
    this.memory.delete();
    this.isFreed = true;
  }
}

const finalization = new FinalizationRegistry((free: () => void) => free());

export class Runtime {
  /** Programs: `runtime.Module.load(bytes)`. */
  readonly Module: { load(program: Bytes, options?: LoadOptions & { data?: Bytes[] }): RuntimeModule };
  /** Language models, of a runtime with the option `llm`: `runtime.Llm.load(bytes)`. */
  readonly Llm: { load(program: Bytes, options?: LlmLoadOptions): RuntimeLlm };

  private constructor(
    /** @internal */
    readonly native: Native,
    readonly threads: number,
  ) {
    this.Module = { load: (program, options) => new RuntimeModule(native, program, options ?? {}) };
    this.Llm = { load: (program, options) => new RuntimeLlm(native, program, options ?? {}) };
  }

  static async create(options: RuntimeOptions = {}): Promise<Runtime> {
    checkOptions(options, OPTIONS);
    const threads = threadCount(options.threads);
    const level = LOG_LEVELS.indexOf(options.logLevel ?? "error");
    if (level < 0) throw new ExecuTorchError("InvalidArgument", `expected a log level of ${LOG_LEVELS.join(", ")}, found ${options.logLevel}`);
    const native = await Native.start(await compile(options.wasm ?? ownModule(options.llm ?? false)), threads);
    native.log = (found, message) => {
      const level = LOG_LEVELS[Math.min(found, 2)]!;
      if (options.onLog) options.onLog(level, message);
      else if (options.logLevel !== undefined || found >= 3) console[level](message);
    };
    native.guard(() => native.check("et_web_set_log_level", level));
    return new Runtime(native, threads);
  }

  /** The operators and backends of this build. */
  get operators(): string[] {
    return this.names("operator");
  }

  get backends(): string[] {
    return this.names("backend");
  }

  private names(what: string): string[] {
    const { native } = this;
    const { call } = native;
    return native.guard(() =>
      Array.from({ length: call[`et_${what}_count`]!() }, (_, i) => native.string(call[`et_${what}_name`]!(i))),
    );
  }

  /** Bytes of memory that the runtime has; it never becomes less. */
  get memoryBytes(): number {
    return this.native.memory.buffer.byteLength;
  }

  /** Why the runtime ended; undefined while it runs. */
  get failure(): ExecuTorchError | undefined {
    return this.native.failure;
  }

  /** Memory for a program or its data, which Module.load() takes over. */
  allocate(size: number): RuntimeMemory {
    return new RuntimeMemory(this.native, size);
  }

  /** A tensor in the memory of the runtime: a run uses its `data` without a copy. */
  empty(sizes: readonly number[], scalarType: ScalarType = ScalarType.Float): Tensor {
    const size = elementCount(sizes) * scalarType.array.BYTES_PER_ELEMENT;
    return new NativeTensor(this.allocate(Math.max(size, 1)), sizes, scalarType);
  }

  /** A picture as a float tensor of {1, 3, height, width}, resized with bilinear interpolation and normalised. */
  imageToTensor(image: ImageSource, options: ImageOptions): Tensor {
    return imageToTensor(this.native, pixelsOf(image), options);
  }

  /** Ends its threads. Its modules can no longer be used. */
  dispose(): void {
    this.native.stop();
  }
}
