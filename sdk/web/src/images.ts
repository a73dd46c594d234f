// SPDX-License-Identifier: BSD-3-Clause
// Pictures: their pixels, and the tensors that the runtime computes from them.
import { checkOptions, ExecuTorchError } from "./errors.js";
import type { Native } from "./native.js";
import { ScalarType } from "./scalar_type.js";
import { Tensor } from "./tensor.js";
import { readTensor } from "./values.js";

/** Rows of red, green, blue and alpha, such as an ImageData. */
export interface Pixels {
  data: Uint8Array | Uint8ClampedArray;
  width: number;
  height: number;
}

/** Pixels, or what a browser can draw on a canvas: a canvas, ImageBitmap, VideoFrame, image or video element. */
export type ImageSource = Pixels | HTMLCanvasElement | OffscreenCanvas | ImageBitmap | VideoFrame | HTMLImageElement | HTMLVideoElement;

/** How a picture becomes a tensor. An element is (byte * scaleFactor - mean) / stdDev, by channel: red, green, blue. */
export interface ImageOptions {
  width: number;
  height: number;
  /** Resizes each direction separately, or keeps the proportions and pads all sides, or pads the right and the bottom. */
  resize?: "stretch" | "letterbox" | "letterboxTopLeft";
  /** Elements of the padding; by default 0. */
  padValue?: number;
  /** By default 1 / 255. */
  scaleFactor?: number;
  /** By default 0. */
  mean?: readonly number[];
  /** By default 1. */
  stdDev?: readonly number[];
}

const MODES = ["stretch", "letterbox", "letterboxTopLeft"];
const RGBA = 1; // ET_PIXEL_FORMAT_RGBA
const UP = 1; // ET_IMAGE_ORIENTATION_UP
const IMAGE_SIZE = 32; // of et_image
const OPTIONS_SIZE = 44; // of et_image_options

/** The size at which a picture is drawn. */
function sizeOf(source: object): [number, number] {
  const sizes = source as Record<string, number | undefined>;
  for (const [width, height] of [
    ["displayWidth", "displayHeight"],
    ["videoWidth", "videoHeight"],
    ["naturalWidth", "naturalHeight"],
    ["width", "height"],
  ] as const) {
    if (typeof sizes[width] === "number" && typeof sizes[height] === "number") return [sizes[width], sizes[height]];
  }
  throw new ExecuTorchError("InvalidArgument", `expected a canvas, ImageBitmap, VideoFrame, image, video or ImageData, found ${source.constructor.name}`);
}

/** The pixels of a picture: its `data`, or what it looks like when drawn. */
export function pixelsOf(source: ImageSource): Pixels {
  if (typeof source !== "object" || source === null) {
    throw new ExecuTorchError("InvalidArgument", `expected a picture, found ${String(source)}`);
  }
  const [width, height] = sizeOf(source);
  if ("data" in source) return { data: source.data, width, height };
  if (!(width > 0 && height > 0)) throw new ExecuTorchError("InvalidArgument", "expected a picture that is loaded, found one without pixels");
  if (typeof OffscreenCanvas === "undefined") {
    throw new ExecuTorchError("NotSupported", "there is no OffscreenCanvas to read the pixels of this picture: pass them as { data, width, height }");
  }
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true })!;
  context.drawImage(source, 0, 0, width, height);
  return context.getImageData(0, 0, width, height);
}

const OPTIONS: Record<keyof Required<ImageOptions>, true> = {
  width: true,
  height: true,
  resize: true,
  padValue: true,
  scaleFactor: true,
  mean: true,
  stdDev: true,
};

function threeOf(name: string, values: readonly number[] | undefined, usual: number): readonly number[] {
  const found = values ?? [usual, usual, usual];
  if (found.length === 3 && found.every(Number.isFinite)) return found;
  throw new ExecuTorchError("InvalidArgument", `expected ${name} of 3 numbers, found [${found.join(", ")}]`);
}

function check(pixels: Pixels, options: ImageOptions): void {
  const refuse = (message: string): never => {
    throw new ExecuTorchError("InvalidArgument", message);
  };
  checkOptions(options, OPTIONS);
  const bytes = 4 * pixels.width * pixels.height;
  const { data } = pixels;
  if (!(data instanceof Uint8Array || data instanceof Uint8ClampedArray) || data.length !== bytes) {
    refuse(`expected ${bytes} bytes of pixels for ${pixels.width} x ${pixels.height}, found ${data?.length} elements`);
  }
  for (const name of ["width", "height"] as const) {
    if (!Number.isInteger(options[name]) || options[name] < 1) refuse(`expected a positive ${name} in pixels, found ${String(options[name])}`);
  }
  for (const name of ["padValue", "scaleFactor"] as const) {
    const value = options[name];
    if (value !== undefined && !Number.isFinite(value)) refuse(`expected a number for ${name}, found ${String(value)}`);
  }
  if (!MODES.includes(options.resize ?? "stretch")) refuse(`expected a resize of ${MODES.join(", ")}, found ${String(options.resize)}`);
}

/** A float tensor of {1, 3, height, width}, resized with bilinear interpolation. */
export function imageToTensor(native: Native, pixels: Pixels, options: ImageOptions): Tensor {
  check(pixels, options);
  const { width, height, resize = "stretch", padValue = 0, scaleFactor = 1 / 255 } = options;
  const normalization = [...threeOf("a mean", options.mean, 0), ...threeOf("a stdDev", options.stdDev, 1)];
  return native.guard(() => {
    const size = pixels.data.length;
    const place = native.allocate(IMAGE_SIZE + OPTIONS_SIZE + 16 + size);
    let tensor = 0;
    try {
      const [settings, sizes, bytes] = [place + IMAGE_SIZE, place + IMAGE_SIZE + OPTIONS_SIZE, place + IMAGE_SIZE + OPTIONS_SIZE + 16];
      native.heap.set(pixels.data, bytes);
      const view = native.view;
      [bytes, 0, pixels.width, pixels.height, 4 * pixels.width, 0, RGBA, UP].forEach((value, i) => view.setUint32(place + 4 * i, value, true));
      [width, height, MODES.indexOf(resize)].forEach((value, i) => view.setInt32(settings + 4 * i, value, true));
      [padValue, scaleFactor, ...normalization].forEach((value, i) => view.setFloat32(settings + 12 + 4 * i, value, true));
      [1, 3, height, width].forEach((value, i) => view.setInt32(sizes + 4 * i, value, true));
      tensor = native.make("et_tensor_create", ScalarType.Float.value, sizes, 4);
      native.check("et_image_to_tensor", settings, place, tensor);
      return readTensor(native, tensor, true);
    } finally {
      native.call["et_tensor_free"]!(tensor);
      native.free(place);
    }
  });
}
