// SPDX-License-Identifier: BSD-3-Clause
package android.os;

/** The version of the system. */
public class Build {
  public static class VERSION {
    /** Here it can be set. */
    public static int SDK_INT = 35;
  }
}
