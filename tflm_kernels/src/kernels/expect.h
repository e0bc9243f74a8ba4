// Leaving a function that returns null, or a sentence that says what is wrong.
#ifndef TFLFUSE_KERNELS_EXPECT_H_
#define TFLFUSE_KERNELS_EXPECT_H_

#define TFLFUSE_EXPECT(condition, sentence) \
  do {                                      \
    if (!(condition)) return sentence;      \
  } while (false)

#define TFLFUSE_EXPECT_NULL(expression)               \
  do {                                                \
    if (const char* wrong = expression) return wrong; \
  } while (false)

#endif  // TFLFUSE_KERNELS_EXPECT_H_
