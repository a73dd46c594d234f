// SPDX-License-Identifier: BSD-3-Clause
// The description of a method, with the names of ExecuTorch's bindings.
import type { Native } from "./native.js";
import { ScalarType, Tag } from "./scalar_type.js";

export interface TensorInfo {
  /** The upper bounds where a shape is dynamic. */
  sizes: number[];
  dimOrder: number[];
  scalarType: ScalarType;
  /** If false, the caller may provide an output's memory, and an input's memory is used in place. */
  isMemoryPlanned: boolean;
  /** Bytes for `sizes`. */
  nbytes: number;
  /** The name that an attribute has in the model, such as "layers.0.cache". */
  name: string;
}

export interface MethodMeta {
  name: string;
  inputTags: Tag[];
  /** The tensors among the inputs, in order. */
  inputTensorMeta: TensorInfo[];
  outputTags: Tag[];
  outputTensorMeta: TensorInfo[];
  /** State of the method with a name, such as a cache. */
  attributeTensorMeta: TensorInfo[];
  memoryPlannedBufferSizes: number[];
  backends: string[];
  numInstructions: number;
}

/** Sizes or a dim order in memory. */
export function readInts(native: Native, address: number, count: number): number[] {
  const view = native.view;
  return Array.from({ length: count }, (_, i) => view.getInt32(address + 4 * i, true));
}

export function readBytes(native: Native, address: number, count: number): number[] {
  return Array.from(native.heap.subarray(address, address + count));
}

interface Info {
  tag: Tag;
  tensor: TensorInfo | undefined;
}

// The fields of et_value_info, by their offsets.
const INFO_SIZE = 32;

function readInfo(native: Native, read: string, meta: number, index: number, name: string): Info {
  const place = native.allocate(INFO_SIZE);
  try {
    native.check(read, meta, index, place);
    const view = native.view;
    const tag = Tag.of(view.getInt32(place, true));
    if (tag !== Tag.Tensor) return { tag, tensor: undefined };
    const rank = view.getUint32(place + 8, true);
    const tensor = {
      sizes: readInts(native, view.getUint32(place + 12, true), rank),
      dimOrder: readBytes(native, view.getUint32(place + 16, true), rank),
      scalarType: ScalarType.of(view.getInt32(place + 4, true)),
      isMemoryPlanned: view.getUint32(place + 24, true) !== 0,
      nbytes: view.getUint32(place + 20, true),
      name,
    };
    return { tag, tensor };
  } finally {
    native.free(place);
  }
}

/** Describes the method of et_method_meta `meta`. */
export function readMethodMeta(native: Native, meta: number): MethodMeta {
  const call = native.call;
  const count = (name: string): number => call[name]!(meta);
  const infos = (what: string, name: (index: number) => string): Info[] =>
    Array.from({ length: count(`et_method_meta_${what}_count`) }, (_, i) => readInfo(native, `et_method_meta_${what}`, meta, i, name(i)));
  const inputs = infos("input", () => "");
  const outputs = infos("output", () => "");
  const attributes = infos("attribute", (i) => native.string(call["et_method_meta_attribute_name"]!(meta, i)));
  const tensors = (all: Info[]): TensorInfo[] => all.flatMap((info) => info.tensor ?? []);
  return {
    name: native.string(call["et_method_meta_name"]!(meta)),
    inputTags: inputs.map((info) => info.tag),
    inputTensorMeta: tensors(inputs),
    outputTags: outputs.map((info) => info.tag),
    outputTensorMeta: tensors(outputs),
    attributeTensorMeta: tensors(attributes),
    memoryPlannedBufferSizes: Array.from({ length: count("et_method_meta_planned_buffer_count") }, (_, i) =>
      Number(call["et_method_meta_planned_buffer_bytes"]!(meta, i)),
    ),
    backends: Array.from({ length: count("et_method_meta_backend_count") }, (_, i) => native.string(call["et_method_meta_backend"]!(meta, i))),
    numInstructions: count("et_method_meta_instruction_count"),
  };
}
