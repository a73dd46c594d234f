// SPDX-License-Identifier: BSD-3-Clause
// Tensors of pictures and sound, compared with arithmetic. tests/web tests canvases and resampling, which only browsers have.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { et, read } from "./support.mjs";

const { Module, soundToTensor } = et;
const runtime = await et.Runtime.create({ threads: 1 });
after(() => {
  runtime.dispose();
  et.shutdown();
});
const fails = (code, words) => (error) => error instanceof et.ExecuTorchError && error.code === code && error.message.includes(words);
const near = (tensor, expected) => {
  assert.equal(tensor.data.length, expected.length);
  tensor.data.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-6, `element ${i}: expected ${expected[i]}, found ${value}`));
};
// Two pixels: (1, 2, 3) and (4, 5, 6) as red, green, blue.
const two = { data: Uint8Array.of(1, 2, 3, 255, 4, 5, 6, 0), width: 2, height: 1 };
const plain = { scaleFactor: 1 };

test("a picture becomes planes of red, green and blue, normalised by channel", () => {
  const tensor = runtime.imageToTensor(two, { width: 2, height: 1, ...plain });
  assert.deepEqual([...tensor.sizes], [1, 3, 1, 2]);
  assert.deepEqual([...tensor.data], [1, 4, 2, 5, 3, 6]);
  near(runtime.imageToTensor(two, { width: 2, height: 1 }), [1, 4, 2, 5, 3, 6].map((byte) => byte / 255));
  const normalized = { width: 2, height: 1, scaleFactor: 2, mean: [0, 4, 0], stdDev: [1, 1, 0.5] };
  assert.deepEqual([...runtime.imageToTensor(two, normalized).data], [2, 8, 0, 6, 12, 24]);
});

test("pictures are resized with half-pixel centres, and padded", () => {
  const gray = { data: Uint8ClampedArray.of(0, 0, 0, 255, 100, 100, 100, 255), width: 2, height: 1 };
  // torch.nn.functional.interpolate(mode="bilinear"): centres of four pixels lie at -0.25, 0.25, 0.75 and 1.25 of two.
  const row = [0, 25, 75, 100];
  near(runtime.imageToTensor(gray, { width: 4, height: 1, ...plain }), [...row, ...row, ...row]);
  const letterbox = { width: 2, height: 3, padValue: -1, ...plain };
  const planes = (rows) => [...rows.flat(), ...rows.flat(), ...rows.flat()];
  const pad = [-1, -1];
  near(runtime.imageToTensor(gray, { ...letterbox, resize: "letterbox" }), planes([pad, [0, 100], pad]));
  near(runtime.imageToTensor(gray, { ...letterbox, resize: "letterboxTopLeft" }), planes([[0, 100], pad, pad]));
});

test("a module makes tensors of pictures in its worker", async () => {
  const module = await Module.load(read("corpus/add/model.pte"), { worker: true });
  const tensor = await module.imageToTensor(two, { width: 2, height: 1, ...plain });
  assert.deepEqual([...tensor.data], [1, 4, 2, 5, 3, 6]);
  await assert.rejects(module.imageToTensor(two, { width: 0, height: 1 }), fails("InvalidArgument", "expected a positive width in pixels, found 0"));
  await module.dispose();
});

test("what is not a picture is refused", () => {
  const refused = (image, options, words, code = "InvalidArgument") =>
    assert.throws(() => runtime.imageToTensor(image, { width: 2, height: 1, ...options }), fails(code, words));
  refused({ ...two, width: 3 }, {}, "expected 12 bytes of pixels for 3 x 1, found 8 elements");
  refused({ ...two, data: new Float32Array(8) }, {}, "expected 8 bytes");
  refused(null, {}, "expected a picture, found null");
  refused({}, {}, "expected a canvas, ImageBitmap");
  refused({ width: 2, height: 1 }, {}, "pass them as { data, width, height }", "NotSupported");
  refused(two, { resize: "crop" }, "expected a resize of stretch, letterbox, letterboxTopLeft, found crop");
  refused(two, { mean: [1] }, "expected a mean of 3 numbers, found [1]");
  refused(two, { stdDev: [1, 0, 1] }, "");
  assert.equal(runtime.failure, undefined);
});

test("sound becomes rows of samples", async () => {
  const channels = [Float32Array.of(0.5, -0.5, 0.25), Float32Array.of(0.25, 0.5, -0.25)];
  const sound = { numberOfChannels: 2, length: 3, sampleRate: 8000, getChannelData: (i) => channels[i] };
  const mono = await soundToTensor(sound);
  assert.deepEqual([...mono.sizes], [1, 3]);
  assert.deepEqual([...mono.data], [0.375, 0, 0]);
  const both = await soundToTensor(sound, { mono: false, sampleRate: 8000 });
  assert.deepEqual([...both.sizes], [2, 3]);
  assert.deepEqual([...both.data], [0.5, -0.5, 0.25, 0.25, 0.5, -0.25]);
  await assert.rejects(soundToTensor(sound, { sampleRate: 16000 }), fails("NotSupported", "there is no OfflineAudioContext"));
  await assert.rejects(soundToTensor(sound, { sampleRate: 0 }), fails("InvalidArgument", "expected a positive sampleRate"));
  await assert.rejects(soundToTensor({}), fails("InvalidArgument", "expected an AudioBuffer"));
});
