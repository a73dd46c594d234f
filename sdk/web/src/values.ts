// SPDX-License-Identifier: BSD-3-Clause
// Inputs and outputs of a method: values of JavaScript in the memory of the runtime, and back.
import { ExecuTorchError } from "./errors.js";
import { readBytes, readInts } from "./metadata.js";
import { Refused, type Native } from "./native.js";
import { ScalarType, Tag, type TypedArray } from "./scalar_type.js";
import { Tensor } from "./tensor.js";

/**
 * An input. A number is a double where the method expects one; elsewhere integers are ints, and other numbers doubles.
 * A BigInt is always an int, and `{ double: 3 }` always a double. null and undefined are None.
 */
export type Input = Tensor | number | bigint | boolean | string | { double: number } | null | undefined;
/** An output. Ints are numbers, or BigInts if a number cannot hold them. */
export type Output = Tensor | number | bigint | boolean | string | null | Output[];

const VALUE_SIZE = 16; // of et_value: a tag, a reserved field, a payload of 8 bytes

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

/** An input's tensor and its memory, which the next run uses again if it fits. */
class TensorSlot {
  private handle = 0;
  private data = 0;
  private capacity = 0;
  private sizes: readonly number[] = [];
  private dimOrder: readonly number[] = [];
  private type: ScalarType | undefined;
  private address = 0;

  constructor(private readonly native: Native) {}

  /** The et_tensor with the elements of `tensor`, which are used in place if they are in the memory of the runtime. */
  fill(tensor: Tensor): number {
    const { native } = this;
    const { data } = tensor;
    const isInPlace = data.buffer === native.memory.buffer;
    if (!isInPlace && data.byteLength > this.capacity) this.reserve(data.byteLength);
    const address = isInPlace ? data.byteOffset : this.data;
    const isSame =
      this.handle !== 0 &&
      address === this.address &&
      tensor.scalarType === this.type &&
      sameNumbers(tensor.sizes, this.sizes) &&
      sameNumbers(tensor.dimOrder, this.dimOrder);
    if (!isSame) this.wrap(tensor, address);
    if (!isInPlace) native.heap.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), address);
    return this.handle;
  }

  private reserve(size: number): void {
    this.free();
    this.data = this.native.allocate(size);
    this.capacity = size;
  }

  private wrap(tensor: Tensor, address: number): void {
    const { native } = this;
    native.call["et_tensor_free"]!(this.handle);
    this.handle = 0;
    const rank = tensor.sizes.length;
    const place = native.allocate(5 * rank);
    try {
      const view = native.view;
      tensor.sizes.forEach((size, d) => view.setInt32(place + 4 * d, size, true));
      native.heap.set(tensor.dimOrder, place + 4 * rank);
      const size = tensor.data.byteLength;
      // Elements of empty tensors are not read.
      const data = address === 0 ? place : address;
      this.handle = native.make("et_tensor_wrap", tensor.scalarType.value, place, rank, place + 4 * rank, data, size, 0, 0);
      this.sizes = tensor.sizes;
      this.dimOrder = tensor.dimOrder;
      this.type = tensor.scalarType;
      this.address = address;
    } finally {
      native.free(place);
    }
  }

  free(): void {
    this.native.call["et_tensor_free"]!(this.handle);
    if (this.data !== 0) this.native.free(this.data);
    this.handle = this.data = this.capacity = 0;
  }
}

/** The memory of the inputs of one method. */
export class InputSlots {
  private tensors: TensorSlot[] = [];
  private texts: number[] = [];
  private values = 0;
  private capacity = 0;

  constructor(
    private readonly native: Native,
    private readonly tags: readonly Tag[],
  ) {}

  /** The address of the et_values of the inputs. */
  fill(inputs: readonly Input[]): number {
    const { native } = this;
    if (this.values === 0 || inputs.length > this.capacity) {
      if (this.values !== 0) native.free(this.values);
      this.values = 0;
      this.values = native.allocate(inputs.length * VALUE_SIZE);
      this.capacity = inputs.length;
    }
    inputs.forEach((input, i) => this.write(input, i));
    return this.values;
  }

  private write(input: Input, index: number): void {
    const address = this.values + index * VALUE_SIZE;
    const set = (tag: Tag): DataView => {
      const view = this.native.view;
      view.setInt32(address, tag.value, true);
      view.setUint32(address + 4, 0, true);
      view.setBigUint64(address + 8, 0n, true);
      return view;
    };
    if (input instanceof Tensor) {
      if (input.isDeleted) throw refused(index, "a tensor with memory, found one that was deleted");
      const tensor = (this.tensors[index] ??= new TensorSlot(this.native)).fill(input);
      set(Tag.Tensor).setUint32(address + 8, tensor, true);
    } else if (input === null || input === undefined) {
      set(Tag.None);
    } else if (typeof input === "bigint" || (typeof input === "number" && this.isInt(input, index))) {
      const value = BigInt(input);
      if (BigInt.asIntN(64, value) !== value) throw refused(index, `an int of 64 bits, found ${String(input)}`);
      set(Tag.Int).setBigInt64(address + 8, value, true);
    } else if (typeof input === "number" || (typeof input === "object" && typeof input.double === "number")) {
      set(Tag.Double).setFloat64(address + 8, typeof input === "number" ? input : input.double, true);
    } else if (typeof input === "boolean") {
      set(Tag.Bool).setUint8(address + 8, input ? 1 : 0);
    } else if (typeof input === "string") {
      this.writeText(input, index, address, set);
    } else {
      throw refused(index, `a Tensor, number, BigInt, boolean, string or null, found ${describe(input)}`);
    }
  }

  private isInt(input: number, index: number): boolean {
    const tag = this.tags[index];
    return tag === Tag.Double ? false : Number.isSafeInteger(input);
  }

  private writeText(text: string, index: number, address: number, set: (tag: Tag) => DataView): void {
    const bytes = new TextEncoder().encode(text);
    if (this.texts[index]) this.native.free(this.texts[index]);
    this.texts[index] = 0;
    const place = (this.texts[index] = this.native.allocate(bytes.length));
    this.native.heap.set(bytes, place);
    const view = set(Tag.String);
    view.setUint32(address + 8, place, true);
    view.setUint32(address + 12, bytes.length, true);
  }

  free(): void {
    for (const tensor of this.tensors) tensor?.free();
    for (const text of this.texts) if (text) this.native.free(text);
    if (this.values !== 0) this.native.free(this.values);
    this.tensors = [];
    this.texts = [];
    this.values = 0;
  }
}

function describe(value: unknown): string {
  return typeof value === "object" && value !== null ? value.constructor?.name ?? "an object" : typeof value;
}

function refused(index: number, message: string): Refused {
  return new Refused(new ExecuTorchError("InvalidArgument", `input ${index}: expected ${message}`));
}

/** The tensor of an et_tensor: a copy, or a view of the memory of the runtime. */
export function readTensor(native: Native, handle: number, copy: boolean): Tensor {
  const { call } = native;
  const rank = call["et_tensor_rank"]!(handle);
  const type = ScalarType.of(call["et_tensor_dtype"]!(handle));
  const count = call["et_tensor_numel"]!(handle) >>> 0;
  const address = call["et_tensor_data"]!(handle) >>> 0;
  const elements = count === 0 ? new type.array(0) : new type.array(native.memory.buffer, address, count);
  let data: TypedArray = elements;
  if (copy && count > 0) {
    data = new type.array(count);
    data.set(elements as never);
  }
  const sizes = readInts(native, call["et_tensor_sizes"]!(handle) >>> 0, rank);
  return new Tensor(data, sizes, type, readBytes(native, call["et_tensor_dim_order"]!(handle) >>> 0, rank));
}

function toInt(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The value of the et_value at `address`. */
export function readValue(native: Native, address: number, copy: boolean): Output {
  const view = native.view;
  const tag = Tag.of(view.getInt32(address, true));
  const payload = address + 8;
  const data = view.getUint32(payload, true);
  const size = view.getUint32(payload + 4, true);
  const items = (item: (index: number) => Output): Output[] => Array.from({ length: size }, (_, i) => item(i));
  const tensorAt = (handle: number): Output => (handle === 0 ? null : readTensor(native, handle, copy));
  switch (tag) {
    case Tag.None:
      return null;
    case Tag.Tensor:
      return tensorAt(data);
    case Tag.String:
      return new TextDecoder().decode(native.heap.slice(data, data + size));
    case Tag.Double:
      return view.getFloat64(payload, true);
    case Tag.Int:
      return toInt(view.getBigInt64(payload, true));
    case Tag.Bool:
      return view.getUint8(payload) !== 0;
    case Tag.ListBool:
      return items((i) => view.getUint8(data + i) !== 0);
    case Tag.ListDouble:
      return items((i) => view.getFloat64(data + 8 * i, true));
    case Tag.ListInt:
      return items((i) => toInt(view.getBigInt64(data + 8 * i, true)));
    default:
      return items((i) => tensorAt(view.getUint32(data + 4 * i, true)));
  }
}

export function readResult(native: Native, result: number, copy: boolean): Output[] {
  const count = native.call["et_result_size"]!(result);
  const values = native.call["et_result_values"]!(result) >>> 0;
  return Array.from({ length: count }, (_, i) => readValue(native, values + i * VALUE_SIZE, copy));
}
