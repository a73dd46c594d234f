// SPDX-License-Identifier: BSD-3-Clause
// Buffers in which the elements of inputs are transferred to a worker, and come back with its answer. Without them each message would
// allocate, clear and free memory on both sides, which takes about 1.2 ms for a picture of 224 x 224.
import { ExecuTorchError } from "./errors.js";
import { ScalarType } from "./scalar_type.js";
import type { Plain } from "./server.js";

/** Smaller tensors are cloned with the message. */
const LEAST_BYTES = 4096;

/** The buffers of one module. */
export class Carriers {
  private free: ArrayBuffer[] = [];

  /** Returns `plain` with its elements copied to a buffer, and adds it to `buffers`, which the caller transfers. */
  load(plain: Plain, buffers: ArrayBuffer[]): Plain {
    if (!("tensor" in plain)) return plain;
    const { data, type } = plain.tensor;
    if (data.byteLength < LEAST_BYTES) {
      // Copies the elements of a view, because a message would clone the whole buffer below the view.
      return data.byteLength === data.buffer.byteLength ? plain : { tensor: { ...plain.tensor, data: data.slice() } };
    }
    const buffer = this.take(data.byteLength);
    buffers.push(buffer);
    new Uint8Array(buffer).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    return { tensor: { ...plain.tensor, data: new (ScalarType.of(type).array)(buffer, 0, data.length) } };
  }

  /** The smallest free buffer of at least `size` bytes, or a new one. */
  private take(size: number): ArrayBuffer {
    this.free.sort((a, b) => a.byteLength - b.byteLength);
    const fit = this.free.findIndex((buffer) => buffer.byteLength >= size);
    if (fit >= 0) return this.free.splice(fit, 1)[0]!;
    try {
      return new ArrayBuffer(size);
    } catch {
      throw new ExecuTorchError("MemoryAllocationFailed", `there are no ${size} bytes for a copy of an input`);
    }
  }

  /** Takes back the buffers of an answer. They replace all others, so that no more memory is kept than one call needs. */
  put(buffers: ArrayBuffer[]): void {
    this.free = buffers;
  }
}
