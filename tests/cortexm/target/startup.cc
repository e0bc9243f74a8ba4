// From reset to main, on every board: the emulator loads each section where it is used and clears the rest.
#include <stdint.h>

#include "semihosting.h"

int main();

extern "C" uint8_t stack_top[];

namespace {

constexpr uint32_t kFaultStatus = 3;

volatile uint32_t& Register(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

[[noreturn]] void Reset() {
  Register(0xE000ED88) |= 0xFu << 20;  // CPACR: the floating-point and vector unit
  __asm__ volatile("dsb\n isb" ::: "memory");
  semihosting::Exit(static_cast<uint32_t>(main()));
}

[[noreturn]] void Fault() {
  semihosting::Write("a fault of the processor\n");
  semihosting::Exit(kFaultStatus);
}

}  // namespace

extern const void* const vectors[16];
__attribute__((section(".vectors"), used)) const void* const vectors[16] = {
    stack_top,
    reinterpret_cast<const void*>(Reset),
    reinterpret_cast<const void*>(Fault),  // NMI, then the faults
    reinterpret_cast<const void*>(Fault),
    reinterpret_cast<const void*>(Fault),
    reinterpret_cast<const void*>(Fault),
    reinterpret_cast<const void*>(Fault),
    reinterpret_cast<const void*>(Fault),
};
