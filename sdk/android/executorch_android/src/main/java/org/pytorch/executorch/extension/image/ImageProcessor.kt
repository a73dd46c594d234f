// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.image

import android.graphics.Bitmap
import java.io.Closeable
import java.nio.ByteBuffer
import org.pytorch.executorch.ImagePixelFormat
import org.pytorch.executorch.ImageResizeMode
import org.pytorch.executorch.Tensor
import org.pytorch.executorch.process

/**
 * [org.pytorch.executorch.ImageProcessor] with the package and the functions of ExecuTorch's class. It has no memory to
 * release; after [close] its functions throw IllegalStateException.
 */
public class ImageProcessor(public val config: ImageProcessorConfig) : Closeable {
  private val processor =
    org.pytorch.executorch.ImageProcessor(
      config.targetWidth,
      config.targetHeight,
      config.normalization.converted,
      when {
        config.resizeMode == ResizeMode.STRETCH -> ImageResizeMode.STRETCH
        config.letterboxAnchor == LetterboxAnchor.CENTER -> ImageResizeMode.LETTERBOX
        else -> ImageResizeMode.LETTERBOX_TOP_LEFT
      },
      config.padValue,
    )

  @Volatile private var closed = false

  /** Whether [close] was not called. */
  public val isValid: Boolean
    get() = !closed

  override fun close() {
    closed = true
  }

  /** The tensor of a bitmap. */
  @JvmOverloads
  public fun process(bitmap: Bitmap, orientation: ImageOrientation = ImageOrientation.UP): Tensor =
    open().process(bitmap, of(orientation))

  /** The same in an existing tensor, for example one that is reused for every frame. */
  @JvmOverloads
  public fun processInto(bitmap: Bitmap, tensor: Tensor, orientation: ImageOrientation = ImageOrientation.UP) {
    open().process(bitmap, of(orientation), tensor)
  }

  /**
   * The tensor of an image in two planes, in direct buffers: luma, and chroma with both colours in turn. The last byte of
   * chroma may be missing, as it is in the planes of CameraX; the byte before it of the same colour is used instead.
   */
  @JvmOverloads
  public fun processYuv(
    yPlane: ByteBuffer,
    yStride: Int,
    uvPlane: ByteBuffer,
    uvStride: Int,
    width: Int,
    height: Int,
    format: YuvFormat,
    orientation: ImageOrientation = ImageOrientation.UP,
    range: YuvRange = YuvRange.VIDEO,
  ): Tensor = convert(yPlane, yStride, uvPlane, uvStride, width, height, format, orientation, range, null)

  /** The same in an existing tensor. */
  @JvmOverloads
  public fun processYuvInto(
    yPlane: ByteBuffer,
    yStride: Int,
    uvPlane: ByteBuffer,
    uvStride: Int,
    width: Int,
    height: Int,
    format: YuvFormat,
    tensor: Tensor,
    orientation: ImageOrientation = ImageOrientation.UP,
    range: YuvRange = YuvRange.VIDEO,
  ) {
    convert(yPlane, yStride, uvPlane, uvStride, width, height, format, orientation, range, tensor)
  }

  /** The shape of the tensor of an image: it depends on the settings alone. */
  @JvmOverloads
  @Suppress("UNUSED_PARAMETER")
  public fun computeOutputShape(
    inputWidth: Int,
    inputHeight: Int,
    orientation: ImageOrientation = ImageOrientation.UP,
  ): LongArray = open().let { longArrayOf(1, 3, it.targetHeight.toLong(), it.targetWidth.toLong()) }

  /** The columns of padding to the left of an image of this size, and the rows above it. */
  @JvmOverloads
  public fun computeLetterboxPadding(
    inputWidth: Int,
    inputHeight: Int,
    orientation: ImageOrientation = ImageOrientation.UP,
  ): LetterboxPadding {
    val (x, y) = open().computeLetterboxPadding(inputWidth, inputHeight, of(orientation))
    return LetterboxPadding(x, y)
  }

  private fun open(): org.pytorch.executorch.ImageProcessor {
    check(!closed) { "this ImageProcessor is closed" }
    return processor
  }

  private fun convert(
    yPlane: ByteBuffer,
    yStride: Int,
    uvPlane: ByteBuffer,
    uvStride: Int,
    width: Int,
    height: Int,
    format: YuvFormat,
    orientation: ImageOrientation,
    range: YuvRange,
    into: Tensor?,
  ): Tensor {
    val isFull = range == YuvRange.FULL
    val pixels =
      when (format) {
        YuvFormat.NV12 -> if (isFull) ImagePixelFormat.NV12_FULL_RANGE else ImagePixelFormat.NV12
        YuvFormat.NV21 -> if (isFull) ImagePixelFormat.NV21_FULL_RANGE else ImagePixelFormat.NV21
      }
    val chroma = complete(uvPlane, (height / 2 - 1L) * uvStride + width)
    return open().process(yPlane, width, height, yStride, pixels, of(orientation), chroma, uvStride, into)
  }

  private fun of(orientation: ImageOrientation) = org.pytorch.executorch.ImageOrientation.valueOf(orientation.name)

  /** If a plane of [bytes] bytes lacks its last byte, returns a copy that has this byte; else returns the plane. */
  private fun complete(plane: ByteBuffer, bytes: Long): ByteBuffer {
    if (bytes < 4 || plane.capacity() != (bytes - 1).toInt()) return plane
    val source = plane.duplicate()
    source.clear()
    val whole = ByteBuffer.allocateDirect(bytes.toInt()).put(source)
    return whole.put(whole.get(bytes.toInt() - 3))
  }
}
