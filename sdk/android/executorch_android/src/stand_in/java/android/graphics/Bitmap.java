// SPDX-License-Identifier: BSD-3-Clause
package android.graphics;

import android.hardware.HardwareBuffer;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ShortBuffer;

/** An image. Colours are numbers 0xAARRGGBB. */
public final class Bitmap {
  public enum Config {
    ALPHA_8,
    RGB_565,
    ARGB_4444,
    ARGB_8888,
    RGBA_F16,
    HARDWARE,
    RGBA_1010102
  }

  /** Not in Android: the number of bitmaps that were made and not recycled. */
  public static int alive = 0;

  private final int[] colors;
  private final int width;
  private final int height;
  private final Config config;
  private boolean isRecycled;

  private Bitmap(int[] colors, int width, int height, Config config) {
    this.colors = colors.clone();
    this.width = width;
    this.height = height;
    this.config = config;
    alive++;
  }

  public static Bitmap createBitmap(int[] colors, int width, int height, Config config) {
    return new Bitmap(colors, width, height, config);
  }

  public static Bitmap wrapHardwareBuffer(HardwareBuffer buffer, ColorSpace colorSpace) {
    if ((buffer.getUsage() & HardwareBuffer.USAGE_GPU_SAMPLED_IMAGE) == 0) {
      throw new IllegalArgumentException("usage flags must contain USAGE_GPU_SAMPLED_IMAGE.");
    }
    return buffer.getFormat() == HardwareBuffer.RGBA_8888
        ? new Bitmap(buffer.colors, buffer.getWidth(), buffer.getHeight(), Config.HARDWARE)
        : null;
  }

  public int getWidth() {
    return width;
  }

  public int getHeight() {
    return height;
  }

  public Config getConfig() {
    return config;
  }

  public int getRowBytes() {
    return width * (config == Config.RGB_565 ? 2 : 4);
  }

  public int getByteCount() {
    return getRowBytes() * height;
  }

  public boolean isRecycled() {
    return isRecycled;
  }

  public void recycle() {
    if (!isRecycled) {
      alive--;
    }
    isRecycled = true;
  }

  /** A copy in another config; null if there is none. */
  public Bitmap copy(Config to, boolean isMutable) {
    checkRecycled();
    return config == Config.ALPHA_8 ? null : new Bitmap(colors, width, height, to);
  }

  public void copyPixelsToBuffer(Buffer to) {
    checkRecycled();
    if (config == Config.HARDWARE) {
      throw new IllegalStateException(
          "unable to copyPixelsToBuffer, pixel access is not supported on Config#HARDWARE bitmaps");
    }
    if (config == Config.RGB_565) {
      ShortBuffer shorts = ((ByteBuffer) to).asShortBuffer();
      for (int color : colors) {
        shorts.put((short) ((color >> 8 & 0xF800) | (color >> 5 & 0x7E0) | (color >> 3 & 0x1F)));
      }
      return;
    }
    ByteBuffer bytes = (ByteBuffer) to;
    for (int color : colors) {
      bytes.put((byte) (color >> 16)).put((byte) (color >> 8)).put((byte) color).put((byte) (color >>> 24));
    }
  }

  private void checkRecycled() {
    if (isRecycled) {
      throw new IllegalStateException("Can't copy a recycled bitmap");
    }
  }
}
