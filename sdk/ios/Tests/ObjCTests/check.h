// SPDX-License-Identifier: BSD-3-Clause
#import <Foundation/Foundation.h>

/// Ends the program, printing file and line, unless the condition holds.
#define CHECK(condition, what)                                                                               \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, [[(what) description] UTF8String], #condition); \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

// Instead of subscripts, which clang does not compile for GCC's runtime.
#define At(array, index) [(array) objectAtIndex:(index)]
#define Of(dictionary, key) [(dictionary) objectForKey:(key)]

/// Runs the programs in a folder.
/// Returns: the number of calls.
int RunCorpus(NSString *path);

/// `corpus`: the folder beside the language model.
void TestLanguageModels(NSString *corpus);
void TestMultimodalModels(NSString *corpus);
