// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File

/** What this build of the runtime can do. Using it loads the native library. */
public class ExecuTorchRuntime private constructor() {
  public companion object {
    private val instance = ExecuTorchRuntime()

    @JvmStatic
    public fun getRuntime(): ExecuTorchRuntime {
      Native.load()
      return instance
    }

    /**
     * Checks that [path] names a file that can be read.
     *
     * @param description what the file is, for the text of the exception: "model".
     * @throws IllegalArgumentException if it does not.
     */
    @JvmStatic
    public fun validateFilePath(path: String?, description: String) {
      requireNotNull(path) { "expected the path of a $description, found null" }
      val file = File(path)
      require(file.exists()) { "there is no $description at $path" }
      require(file.isFile) { "expected a $description at $path, found a folder" }
      require(file.canRead()) { "the $description at $path may not be read by this process" }
    }

    /** The linked operators, for example `aten::add.out`. */
    @JvmStatic public fun getRegisteredOps(): Array<String> = Native.operators().decode()

    /** The linked backends, by the names that programs use. */
    @JvmStatic public fun getRegisteredBackends(): Array<String> = Native.backends().decode()

    internal fun recordsEvents(): Boolean = Native.recordsEvents()

    internal fun readLog(): Array<String>? = if (Native.isLoaded) Native.readLog().decode() else null
  }
}

internal fun Array<ByteArray>.decode(): Array<String> = Array(size) { String(this[it], Charsets.UTF_8) }
