// Puts right what would be refused at once in a changed Case, so that Eval is reached with what is left of the changes.
#ifndef TFLFUSE_TESTS_DEVICE_FUZZ_REPAIR_H_
#define TFLFUSE_TESTS_DEVICE_FUZZ_REPAIR_H_

#include "../kernels/host.h"
#include "case.h"

// Random numbers from libFuzzer's seed.
using Dice = Random;

// c: its options hold at least a header. Every single repair is left out now and then.
void Repair(Case* c, Dice* dice);

#endif  // TFLFUSE_TESTS_DEVICE_FUZZ_REPAIR_H_
