// What the example sketch calls of Arduino.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct SerialPort {
  void begin(unsigned long baud);
  explicit operator bool() const;
  void print(const char* text);
  void print(unsigned long number);
  void println(const char* text);
  void println(int number);
};
extern SerialPort Serial;
unsigned long micros();
void delay(unsigned long milliseconds);
