// SPDX-License-Identifier: BSD-3-Clause
// Inputs from Android's framework. Only org.pytorch.executorch.extension.image refers to this file, so the library also runs
// without the framework.
@file:JvmName("AndroidInputs")

package org.pytorch.executorch

import android.content.res.AssetFileDescriptor
import android.content.res.AssetManager
import android.graphics.Bitmap
import android.hardware.HardwareBuffer
import android.os.Build
import java.io.FileNotFoundException

/**
 * Loads the program that an asset file descriptor refers to: the bytes of its part of the file are mapped, not copied.
 * The descriptor may be closed afterwards.
 */
@JvmOverloads
public fun Module.Companion.load(
  asset: AssetFileDescriptor,
  loadMode: Int = Module.LOAD_MODE_MMAP,
  numThreads: Int = 0,
  options: BackendOptionsMap = BackendOptionsMap(),
): Module {
  val length = asset.length
  return load(
    asset.parcelFileDescriptor.fd,
    asset.startOffset,
    if (length == AssetFileDescriptor.UNKNOWN_LENGTH) 0 else length,
    loadMode,
    numThreads,
    options,
  )
}

/**
 * Loads a file of the app's assets, without a copy. From Java: `AndroidInputs.loadAsset(Module.Companion, getAssets(),
 * "model.pte")`.
 *
 * @throws IllegalArgumentException if there is no such asset, or it is compressed in the app's package: set
 *   `androidResources { noCompress += "pte" }` in the app's build.gradle.kts.
 */
@JvmOverloads
public fun Module.Companion.loadAsset(
  assets: AssetManager,
  name: String,
  loadMode: Int = Module.LOAD_MODE_MMAP,
  numThreads: Int = 0,
  options: BackendOptionsMap = BackendOptionsMap(),
): Module {
  val asset =
    try {
      assets.openFd(name)
    } catch (e: FileNotFoundException) {
      throw IllegalArgumentException(
        "the asset $name is not there, or is compressed and cannot be mapped: set androidResources { noCompress += \"pte\" } " +
          "in the app's build.gradle.kts (${e.message})",
        e,
      )
    }
  return asset.use { load(it, loadMode, numThreads, options) }
}

/**
 * The tensor of a bitmap, which is converted to the config ARGB_8888 first if it has another one. From Java:
 * `AndroidInputs.process(processor, bitmap)`.
 *
 * @param into a tensor that is written to, for example one that is reused for every frame; null: a new one.
 */
@JvmOverloads
public fun ImageProcessor.process(
  bitmap: Bitmap,
  orientation: ImageOrientation = ImageOrientation.UP,
  into: Tensor? = null,
): Tensor {
  val readable =
    if (bitmap.config == Bitmap.Config.ARGB_8888) bitmap
    else
      requireNotNull(bitmap.copy(Bitmap.Config.ARGB_8888, false)) {
        "a bitmap of the config ${bitmap.config} cannot be converted to ARGB_8888, or there is no memory for it"
      }
  try {
    // In memory the bytes of ARGB_8888 are red, green, blue and alpha.
    val pixels = Tensor.allocateByteBuffer(readable.byteCount)
    readable.copyPixelsToBuffer(pixels)
    return process(pixels, readable.width, readable.height, readable.rowBytes, ImagePixelFormat.RGBA, orientation, into = into)
  } finally {
    if (readable !== bitmap) readable.recycle()
  }
}

/**
 * The tensor of an image in a hardware buffer, for example of a camera or a renderer, from Android 10 (API 29) on. The
 * buffer needs the usage `HardwareBuffer.USAGE_GPU_SAMPLED_IMAGE` and a format with red, green and blue. Its pixels are
 * copied to a bitmap in memory first; the buffer is not closed.
 */
@JvmOverloads
public fun ImageProcessor.process(
  buffer: HardwareBuffer,
  orientation: ImageOrientation = ImageOrientation.UP,
  into: Tensor? = null,
): Tensor {
  if (Build.VERSION.SDK_INT < 29) {
    throw ExecutorchException.of(
      ExecutorchRuntimeException.NOT_SUPPORTED,
      "hardware buffers are read from Android 10 (API 29) on, found API ${Build.VERSION.SDK_INT}: pass the pixels, or a Bitmap",
    )
  }
  val bitmap =
    requireNotNull(Bitmap.wrapHardwareBuffer(buffer, null)) {
      "the hardware buffer (format ${buffer.format}) has no image that can be read: it needs USAGE_GPU_SAMPLED_IMAGE and an RGB format"
    }
  try {
    return process(bitmap, orientation, into)
  } finally {
    bitmap.recycle()
  }
}
