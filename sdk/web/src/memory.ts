// SPDX-License-Identifier: BSD-3-Clause
// Memory of a runtime, and programs and weights that go there.
import { ExecuTorchError } from "./errors.js";
import type { Native } from "./native.js";

/** Bytes, or memory of the runtime that Runtime.allocate() returned. */
export type Bytes = ArrayBuffer | SharedArrayBuffer | ArrayBufferView | RuntimeMemory;

/** Memory of a runtime, into which a download can be written. */
export class RuntimeMemory {
  private address: number;

  /** @internal */
  constructor(
    readonly native: Native,
    private size: number,
  ) {
    this.address = native.guard(() => native.allocate(size));
  }

  private check(): void {
    if (this.address === 0) throw new ExecuTorchError("InvalidState", "this memory was used or freed already");
  }

  /** The bytes. Read the property again after each call of the runtime, which may grow its memory. */
  get bytes(): Uint8Array {
    this.check();
    return this.native.heap.subarray(this.address, this.address + this.size);
  }

  /** Makes the memory larger or smaller; bytes that it keeps do not change. */
  resize(size: number): void {
    this.check();
    const kept = Math.min(size, this.size);
    const address = this.native.guard(() => this.native.allocate(size));
    this.native.heap.copyWithin(address, this.address, this.address + kept);
    this.delete();
    this.address = address;
    this.size = size;
  }

  /** @internal Its address and size. The caller must free the memory. */
  take(): Owned {
    this.check();
    const { address, size } = this;
    this.address = 0;
    return { address, size };
  }

  delete(): void {
    if (this.address !== 0 && this.native.failure === undefined) this.native.free(this.address);
    this.address = 0;
  }
}

/** The address and size of bytes in the memory of the runtime: a copy, unless they are already there. */
function own(native: Native, bytes: Bytes): Owned {
  if (bytes instanceof RuntimeMemory) {
    if (bytes.native !== native) throw new ExecuTorchError("InvalidArgument", "this memory is of another runtime");
    return bytes.take();
  }
  const isView = ArrayBuffer.isView(bytes);
  if (!isView && !(bytes instanceof ArrayBuffer) && !isShared(bytes)) {
    throw new ExecuTorchError("InvalidArgument", `expected an ArrayBuffer or a typed array of a program's bytes, found ${typeof bytes}`);
  }
  const view = isView ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
  const address = native.guard(() => native.allocate(view.length));
  native.heap.set(view, address);
  return { address, size: view.length };
}

function isShared(bytes: unknown): bytes is SharedArrayBuffer {
  return Object.prototype.toString.call(bytes) === "[object SharedArrayBuffer]";
}

/** Bytes in the memory of a runtime. */
interface Owned {
  address: number;
  size: number;
}

/** Memory of several sources. take() gives up the last one that is left; use() frees the rest if `body` fails. */
export class OwnedBytes {
  private readonly left: Owned[] = [];

  private constructor() {}

  /** Calls `body` with the bytes of all sources in the memory of the runtime. If it fails, frees the bytes that it did not take. */
  static use<T>(native: Native, sources: readonly Bytes[], body: (owned: OwnedBytes) => T): T {
    const owned = new OwnedBytes();
    try {
      for (const bytes of sources) owned.left.push(own(native, bytes));
      return native.guard(() => body(owned));
    } catch (error) {
      if (native.failure === undefined) for (const { address } of owned.left) native.free(address);
      for (const bytes of sources) if (bytes instanceof RuntimeMemory) bytes.delete();
      throw error;
    }
  }

  get count(): number {
    return this.left.length;
  }

  take(): Owned {
    return this.left.pop()!;
  }
}
