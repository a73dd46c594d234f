// SPDX-License-Identifier: BSD-3-Clause
package android.content.res;

import android.os.ParcelFileDescriptor;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;

/** The assets of an app, which are parts of one file: its package. */
public final class AssetManager {
  private final File apk;
  private final String name;
  private final long offset;
  private final long length;

  /** Not in Android: makes the assets of a package with one asset, which is not compressed. */
  public AssetManager(File apk, String name, long offset, long length) {
    this.apk = apk;
    this.name = name;
    this.offset = offset;
    this.length = length;
  }

  public AssetFileDescriptor openFd(String fileName) throws IOException {
    if (!fileName.equals(name)) {
      throw new FileNotFoundException("This file can not be opened as a file descriptor; it is probably compressed");
    }
    return new AssetFileDescriptor(
        ParcelFileDescriptor.open(apk, ParcelFileDescriptor.MODE_READ_ONLY), offset, length);
  }
}
