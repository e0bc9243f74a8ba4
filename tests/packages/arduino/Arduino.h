// What sketches call of Arduino.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct SerialPort {
  void begin(unsigned long baud);
  explicit operator bool() const;
  void print(const char* text);
  void print(int number);
  void print(unsigned long number);
  void print(double number);
  void println();
  void println(const char* text);
  void println(int number);
  void println(unsigned long number);
};
extern SerialPort Serial;
unsigned long micros();
void delay(unsigned long milliseconds);
