// SPDX-License-Identifier: BSD-3-Clause
// Memory in which elements go to a worker. It comes back with the answer, and the next call uses it: a message that copies them would
// allocate, clear and free memory on both sides, which takes as long as a small model.
import type { Plain } from "./server.js";

/** Fewer bytes are copied with the message. */
const LEAST_BYTES = 4096;

export class Carriers {
  private readonly free: ArrayBuffer[] = [];

  /** `plain` with its elements in memory that is added to `buffers`, which are transferred with the message. */
  load(plain: Plain, buffers: ArrayBuffer[]): Plain {
    if (!("tensor" in plain)) return plain;
    const { data } = plain.tensor;
    if (data.byteLength < LEAST_BYTES) {
      // The elements alone: a message copies the whole buffer of a view.
      return data.byteLength === data.buffer.byteLength ? plain : { tensor: { ...plain.tensor, data: data.slice() } };
    }
    const buffer = this.take(data.byteLength);
    buffers.push(buffer);
    new Uint8Array(buffer).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    const array = data.constructor as new (buffer: ArrayBuffer, offset: number, length: number) => typeof data;
    return { tensor: { ...plain.tensor, data: new array(buffer, 0, data.length) } };
  }

  /** The smallest that fits. Otherwise a new one replaces one that is too small, so that there are as many as one call needs. */
  private take(size: number): ArrayBuffer {
    this.free.sort((a, b) => a.byteLength - b.byteLength);
    const fit = this.free.findIndex((buffer) => buffer.byteLength >= size);
    if (fit >= 0) return this.free.splice(fit, 1)[0]!;
    this.free.shift();
    return new ArrayBuffer(size);
  }

  /** They have come back. */
  put(buffers: readonly ArrayBuffer[]): void {
    this.free.push(...buffers);
  }
}
