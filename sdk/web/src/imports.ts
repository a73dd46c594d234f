// SPDX-License-Identifier: BSD-3-Clause
// What executorch.wasm imports: its memory, and the functions of the system, as Emscripten 3.1.6's C library names them.
import { BACKENDS } from "./backend_list.js";
import { canWait } from "./environment.js";
import { ExecuTorchError } from "./errors.js";
import { isSuspendable, suspending } from "./suspension.js";
import type { ThreadTeam } from "./threads.js";

export const PAGE = 65536;
const MOST_PAGES = 65536;
/** The least memory, which the module declares (sdk/web/native/CMakeLists.txt). */
const INITIAL_PAGES = 256;
const TRY_AGAIN = 6; // EAGAIN of the C library
const NOT_IMPLEMENTED = 52; // its ENOSYS

const CANNOT_WAIT = isSuspendable
  ? "its results arrive later: call loadMethodAsync(), executeAsync() or forwardAsync(), or use Module, which calls them; language models cannot wait for results"
  : "its results arrive later, and this browser cannot suspend WebAssembly for them (JSPI): update the browser, or export the program for a CPU";

export type Call = (...args: (number | bigint)[]) => number;
export type Functions = Record<string, Call>;
export type LogSink = (level: number, message: string) => void;
export type TextSink = (text: string) => boolean;

/** What the threads of one runtime share. */
export interface Shared {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
}

/** Memory with the largest maximum that the system reserves. */
export function makeMemory(): WebAssembly.Memory {
  for (let maximum = MOST_PAGES; ; maximum /= 2) {
    try {
      return new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum, shared: true });
    } catch (error) {
      if (maximum <= 2048) {
        throw new ExecuTorchError("MemoryAllocationFailed", `there is no memory for the runtime: ${(error as Error).message}`);
      }
    }
  }
}

/** The functions that the module imports. */
export class Imports {
  log: LogSink = () => {};
  /** Receives the pieces of an answer; false ends it. */
  text: TextSink = () => false;
  /** Whether the memory could not grow. If the program then ends, this is the reason. */
  outOfMemory = false;
  functions: Functions = {};
  /** Whether the present call may wait for promises. */
  mayWait = false;
  private line = "";

  constructor(
    private readonly shared: Shared,
    private readonly team: ThreadTeam | undefined,
    private readonly threadCount: number,
  ) {}

  object(): WebAssembly.Imports {
    const known: Record<string, (...args: never[]) => unknown> = {
      abort: () => {
        throw new ExecuTorchError(
          this.outOfMemory ? "MemoryAllocationFailed" : "Internal",
          this.outOfMemory ? "there is not enough memory: the runtime has up to 4 GB" : "the runtime ended the program",
        );
      },
      et_web_log: (level: number, message: number) => this.log(level, this.string(message)),
      et_web_text: (text: number, size: number) => (this.text(this.string(text, size)) ? 1 : 0),
      emscripten_resize_heap: (size: number) => this.grow(size >>> 0),
      emscripten_memcpy_big: (to: number, from: number, size: number) => {
        new Uint8Array(this.shared.memory.buffer).copyWithin(to >>> 0, from >>> 0, (from >>> 0) + (size >>> 0));
      },
      emscripten_get_now: () => performance.timeOrigin + performance.now(),
      emscripten_get_heap_max: () => MOST_PAGES * PAGE - 1,
      emscripten_num_logical_cores: () => this.threadCount,
      emscripten_check_blocking_allowed: () => {},
      emscripten_unwind_to_js_event_loop: () => {
        // The C library calls this when another thread has failed and the thread that started the runtime waits.
        throw new ExecuTorchError("Internal", `a thread of the runtime failed: ${this.string(this.functions["et_web_failure"]!())}`);
      },
      _emscripten_default_pthread_stack_size: () => 1 << 20,
      __clock_gettime: (_clock: number, to: number) => this.time(to >>> 0),
      clock_gettime: (_clock: number, to: number) => this.time(to >>> 0),
      clock_time_get: (_clock: number, _precision: bigint, to: number) => {
        this.view().setBigUint64(to >>> 0, now(), true);
        return 0;
      },
      __emscripten_init_main_thread_js: (thread: number) =>
        this.functions["_emscripten_thread_init"]!(thread, canWait ? 0 : 1, 1, canWait ? 1 : 0, 0),
      __pthread_create_js: (thread: number, _attributes: number, routine: number, argument: number) =>
        this.team?.run(thread, this.functions["et_web_thread_stack"]!(thread), routine, argument) ? 0 : TRY_AGAIN,
      __emscripten_thread_cleanup: (thread: number) => {
        this.team?.release(thread);
        this.functions["_emscripten_thread_free_data"]!(thread);
      },
      fd_write: (_file: number, parts: number, count: number, written: number) => this.write(parts >>> 0, count, written >>> 0),
      fd_close: () => 0,
      exit: (status: number) => {
        throw new ExecuTorchError("Internal", `the runtime ended the program with status ${status}`);
      },
      environ_sizes_get: (count: number, size: number) => {
        this.view().setUint32(count >>> 0, 0, true);
        this.view().setUint32(size >>> 0, 0, true);
        return 0;
      },
      environ_get: () => 0,
      random_get: (to: number, size: number) => this.random(to >>> 0, size),
      getentropy: (to: number, size: number) => this.random(to >>> 0, size),
      _tzset_js: () => {},
      _localtime_js: (seconds: number, to: number) => this.localTime(seconds >>> 0, to >>> 0),
    };
    const halves = this.backends();
    const modules: Record<string, Record<string, WebAssembly.ImportValue>> = {};
    for (const { module, name, kind } of WebAssembly.Module.imports(this.shared.module)) {
      modules[module] ??= {};
      // There are no files, so that calls of the system that open and read them fail.
      modules[module][name] = kind === "memory" ? this.shared.memory : (halves[module]?.[name] ?? known[name] ?? (() => (module === "env" ? -NOT_IMPLEMENTED : NOT_IMPLEMENTED)));
    }
    return modules;
  }

  /** The imports that backends with a part in JavaScript provide, by the name of the import's module. */
  private backends(): Record<string, Record<string, WebAssembly.ImportValue>> {
    const host = {
      bytes: () => new Uint8Array(this.shared.memory.buffer),
      string: (address: number, size?: number) => this.string(address, size),
      cannotWait: () => (this.mayWait ? undefined : CANNOT_WAIT),
    };
    const found: Record<string, Record<string, WebAssembly.ImportValue>> = {};
    for (const { module, make } of BACKENDS) {
      const { imports, waiting } = make(host);
      const names = Object.entries(waiting).map(([name, wait]) => [name, suspending(wait)] as const);
      found[module] = { ...imports, ...Object.fromEntries(names) };
    }
    return found;
  }

  private random(to: number, size: number): number {
    // A copy, because getRandomValues refuses shared memory.
    new Uint8Array(this.shared.memory.buffer).set(crypto.getRandomValues(new Uint8Array(size)), to);
    return 0;
  }

  /** The local time, as the C library's `struct tm`. */
  private localTime(seconds: number, to: number): void {
    const view = this.view();
    const date = new Date(view.getInt32(seconds, true) * 1000);
    const dayOf = (year: number, month: number, day: number): number => Date.UTC(year, month, day) / 86400000;
    const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
    const offset = date.getTimezoneOffset();
    const standard = Math.max(new Date(year, 0, 1).getTimezoneOffset(), new Date(year, 6, 1).getTimezoneOffset());
    const dayOfYear = dayOf(year, month, day) - dayOf(year, 0, 1);
    const parts = [date.getSeconds(), date.getMinutes(), date.getHours(), day, month, year - 1900, date.getDay(), dayOfYear];
    [...parts, offset < standard ? 1 : 0, -60 * offset].forEach((part, i) => view.setInt32(to + 4 * i, part, true));
  }

  view(): DataView {
    return new DataView(this.shared.memory.buffer);
  }

  /** The text of `size` bytes, or up to the next NUL. */
  string(address: number, size?: number): string {
    const bytes = new Uint8Array(this.shared.memory.buffer);
    const start = address >>> 0;
    const end = size === undefined ? bytes.indexOf(0, start) : start + size;
    return new TextDecoder().decode(bytes.slice(start, end)); // decoders refuse shared memory
  }

  private grow(size: number): number {
    const { memory } = this.shared;
    const present = memory.buffer.byteLength;
    // Grows by more than is needed, so that small allocations do not each grow it.
    for (const target of [Math.max(size, Math.min(present * 1.2, present + (64 << 20))), size]) {
      const pages = Math.ceil((Math.min(target, MOST_PAGES * PAGE) - memory.buffer.byteLength) / PAGE);
      try {
        if (target <= MOST_PAGES * PAGE) {
          if (pages > 0) memory.grow(pages);
          return 1;
        }
      } catch {
        // Less is tried next.
      }
    }
    this.outOfMemory = true;
    return 0;
  }

  /** Writes the C library's timespec: seconds and nanoseconds, which both have 32 bits. */
  private time(to: number): number {
    const view = this.view();
    const nanoseconds = now();
    view.setInt32(to, Number(nanoseconds / 1_000_000_000n), true);
    view.setInt32(to + 4, Number(nanoseconds % 1_000_000_000n), true);
    return 0;
  }

  /** Lines on stderr, which the runtime writes before it has a sink. */
  private write(parts: number, count: number, written: number): number {
    const view = this.view();
    let size = 0;
    for (let i = 0; i < count; i++) {
      const length = view.getUint32(parts + i * 8 + 4, true);
      this.line += this.string(view.getUint32(parts + i * 8, true), length);
      size += length;
    }
    view.setUint32(written, size, true);
    const lines = this.line.split("\n");
    this.line = lines.pop()!;
    for (const line of lines) console.error(line);
    return 0;
  }
}

function now(): bigint {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));
}
