// What the sanitized test programs share: memory of exact size, random numbers, and failing.
#ifndef TFLFUSE_TESTS_KERNELS_HOST_H_
#define TFLFUSE_TESTS_KERNELS_HOST_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Ends the program: the test sees the line and the exit status.
#define REQUIRE(condition)                                                              \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);         \
      exit(1);                                                                          \
    }                                                                                   \
  } while (false)

// Heap memory of exactly this size behind its start, which lies shift bytes after a multiple of 16.
class Exact {
 public:
  explicit Exact(size_t size, size_t shift = 0) : block_(malloc(size + shift)), shift_(shift), size_(size) {}
  Exact(const void* data, size_t size, size_t shift = 0) : Exact(size, shift) {
    if (size > 0) memcpy(bytes(), data, size);
  }
  ~Exact() { free(block_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  uint8_t* bytes() const { return static_cast<uint8_t*>(block_) + shift_; }
  int8_t* ints() const { return reinterpret_cast<int8_t*>(bytes()); }
  size_t size() const { return size_; }

 private:
  void* block_;
  size_t shift_;
  size_t size_;
};

// xorshift: the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2654435769u + 88172645463325252u) {}
  uint32_t below(uint32_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>(state_ >> 16) % n;
  }

 private:
  uint64_t state_;
};

// Sized byte strings, as test_sanitized.py writes them: u32 length, then the bytes.
class Reader {
 public:
  explicit Reader(const char* path) : file_(fopen(path, "rb")) { REQUIRE(file_ != nullptr); }
  ~Reader() { fclose(file_); }

  bool number(uint32_t* value) { return fread(value, sizeof *value, 1, file_) == 1; }
  // Memory from malloc, never null.
  uint8_t* string(uint32_t* length) {
    REQUIRE(number(length));
    uint8_t* data = static_cast<uint8_t*>(malloc(*length + 1u));
    REQUIRE(fread(data, 1, *length, file_) == *length);
    return data;
  }

 private:
  FILE* file_;
};

#endif  // TFLFUSE_TESTS_KERNELS_HOST_H_
