// SPDX-License-Identifier: BSD-3-Clause
// Tensors of sound.
import { checkOptions, ExecuTorchError } from "./errors.js";
import { Tensor } from "./tensor.js";

/** Sound, such as an AudioBuffer. */
export interface Sound {
  readonly numberOfChannels: number;
  readonly length: number;
  readonly sampleRate: number;
  getChannelData(channel: number): Float32Array;
}

export interface SoundOptions {
  /** The sampling rate of the tensor, to which the browser resamples; by default the rate of the sound. */
  sampleRate?: number;
  /** Whether all channels become one, their mean; by default true. */
  mono?: boolean;
}

/** A float tensor of {channels, samples} from -1 to 1; resampling takes the browser's OfflineAudioContext, which workers lack. */
export async function soundToTensor(sound: Sound, options: SoundOptions = {}): Promise<Tensor> {
  if (typeof sound?.getChannelData !== "function" || !(sound.numberOfChannels > 0)) {
    throw new ExecuTorchError("InvalidArgument", "expected an AudioBuffer with a channel");
  }
  checkOptions(options, { sampleRate: true, mono: true } satisfies Record<keyof SoundOptions, true>);
  const { sampleRate = sound.sampleRate, mono = true } = options;
  const found = sampleRate === sound.sampleRate ? sound : await resample(sound, sampleRate);
  const channels = Array.from({ length: found.numberOfChannels }, (_, i) => found.getChannelData(i));
  const rows = mono ? 1 : channels.length;
  const data = new Float32Array(rows * found.length);
  channels.forEach((samples, channel) => {
    if (!mono) data.set(samples, channel * found.length);
    else for (let i = 0; i < samples.length; i++) data[i]! += samples[i]! / channels.length;
  });
  return new Tensor(data, [rows, found.length]);
}

async function resample(sound: Sound, sampleRate: number): Promise<Sound> {
  if (!Number.isFinite(sampleRate) || sampleRate <= 0) {
    throw new ExecuTorchError("InvalidArgument", `expected a positive sampleRate, found ${sampleRate}`);
  }
  if (typeof OfflineAudioContext === "undefined") {
    throw new ExecuTorchError(
      "NotSupported",
      `the sound has ${sound.sampleRate} samples in a second, ${sampleRate} were asked for, and there is no OfflineAudioContext to resample it: ` +
        "call this in a page, or pass sound of that rate",
    );
  }
  const context = new OfflineAudioContext(sound.numberOfChannels, Math.max(1, Math.ceil((sound.length * sampleRate) / sound.sampleRate)), sampleRate);
  const buffer = context.createBuffer(sound.numberOfChannels, sound.length, sound.sampleRate);
  for (let i = 0; i < sound.numberOfChannels; i++) buffer.getChannelData(i).set(sound.getChannelData(i));
  const source = context.createBufferSource();
  source.buffer = buffer;
  source.connect(context.destination);
  source.start();
  return context.startRendering();
}
