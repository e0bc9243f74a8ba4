#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include <stddef.h>

#include "taps.h"

// Four channels of a tap are a word, of which bytes 0 and 2, and 1 and 3, are widened at once: ten instructions for
// four products, and sums that never leave the registers. In assembly for the same reason as dot.cc.
//
// r0 input, r1 weights, r2 step, r3 pitch, r4-r7 the sums of channels 0 to 3, r8-r11 words at hand, r12 the list of
// rows, lr bytes from the first window and channel to those at hand, or threes that are left.

// On the stack: what belongs to the four channels at hand, nine saved registers, and the argument, which begins in
// r0-r3.
#define LOCALS "64"
#define WEIGHTS_HERE "[sp]"  // and rows
#define BIAS_HERE "[sp, #8]"
#define SHIFTS_HERE "[sp, #12]"  // and multipliers
#define OUTPUT_HERE "[sp, #20]"
#define END "[sp, #24]"
#define OFFSET "[sp, #28]"
#define CHANNEL "[sp, #32]"
#define ENTRY "[sp, #36]"
#define BEHIND "[sp, #40]"
#define REST "[sp, #44]"
#define AT_PADDED_BIAS "48"
#define INNER "[sp, #100]"  // weights and rows
#define ABOVE "[sp, #108]"
#define BELOW "[sp, #116]"
#define BIAS "[sp, #124]"  // and multipliers
#define SHIFTS "[sp, #132]"  // and output
#define PITCH "[sp, #140]"  // and step
#define STRIDE "[sp, #148]"
#define SPAN "[sp, #152]"
#define THREES "[sp, #156]"
#define TAPS_REST "[sp, #160]"
#define DOUBLED "[sp, #164]"
#define PADDED "[sp, #168]"
static_assert(offsetof(TflfuseDspTaps, bias) == 24 && offsetof(TflfuseDspTaps, pitch) == 40 &&
                  offsetof(TflfuseDspTaps, padded) == 68,
              "the numbers above");

#define LABEL(name) ".thumb_func\n" name ":\n"

#define TAP(x, w)                \
  "ldr r8, " x "\n"              \
  "ldr r10, " w "\n"             \
  "sxtb16 r9, r8, ror #8\n"      \
  "sxtb16 r8, r8\n"              \
  "sxtb16 r11, r10, ror #8\n"    \
  "sxtb16 r10, r10\n"            \
  "smlabb r4, r8, r10, r4\n"     \
  "smlabb r5, r9, r11, r5\n"     \
  "smlatt r6, r8, r10, r6\n"     \
  "smlatt r7, r9, r11, r7\n"
#define ONE TAP("[r0]", "[r1]")
#define TWO ONE TAP("[r0, r2]", "[r1, r3]")
#define THREE TWO TAP("[r0, r2, lsl #1]", "[r1, r3, lsl #1]")
#define THREE_ON(p, by) "add " p ", " p ", " by ", lsl #1\n add " p ", " p ", " by "\n"

// A channel's sum, with the inverted shifts r0 and the doubled zero point r1; r8 the multipliers, then the next.
#define ROUND(x, rotation)       \
  "ldr r9, [r8], #4\n"           \
  "uxtb r12, r0" rotation "\n"   \
  "lsl r10, r1, r12\n"           \
  "lsl " x ", " x ", #1\n"       \
  "smmlar r9, " x ", r9, r10\n"  \
  "add r9, r9, " x ", asr #31\n" \
  "asr r9, r9, r12\n"            \
  "ssat " x ", #8, r9, asr #1\n"

__asm__(
    ".syntax unified\n.thumb\n"
    ".pushsection .text.tflfuse_dsp_taps, \"ax\", %progbits\n.balign 4\n"

    ".global tflfuse_dsp_taps\n.type tflfuse_dsp_taps, %function\n"
    LABEL("tflfuse_dsp_taps")
    "push {r0-r3}\n"
    "push {r4-r11, lr}\n"
    "sub sp, #" LOCALS "\n"
    "ldrd r3, r2, " PITCH "\n"
    "ldr r0, " TAPS_REST "\n"
    "cmp r0, #1\n"
    "ldr r1, =taps_rest_2\n"
    "it eq\n ldreq r1, =taps_rest_1\n"
    "it lo\n ldrlo r1, =taps_row\n"
    "str r1, " REST "\n"
    "ldr r1, " THREES "\n"
    "add r0, r0, r1, lsl #2\n"
    "cmp r0, #4\n"  // three taps
    "ite eq\n ldreq r1, =taps_3\n ldrne r1, =taps_any\n"
    "str r1, " ENTRY "\n"
    "movs r4, #0\n"

    "1: str r4, " CHANNEL "\n"
    "ldr r0, " SPAN "\n"
    "add r0, r0, r4\n"
    "str r0, " END "\n"
    "str r4, " OFFSET "\n"
    "ldrd r0, r1, " INNER "\n"
    "add r0, r0, r4\n"
    "strd r0, r1, " WEIGHTS_HERE "\n"
    "ldrd r10, r1, " BIAS "\n"
    "add r10, r10, r4, lsl #2\n"
    "add r1, r1, r4, lsl #2\n"
    "str r10, " BIAS_HERE "\n"
    "ldrd r0, r8, " SHIFTS "\n"
    "ldr r0, [r0, r4]\n"
    "mvn r0, r0\n"
    "strd r0, r1, " SHIFTS_HERE "\n"
    "add r8, r8, r4\n"
    "str r8, " OUTPUT_HERE "\n"
    "ldr r0, " PADDED "\n"
    "cbz r0, 2f\n"

    // The share of padding, which is the same for all windows, goes into the bias.
    "ldr r0, =taps_above\n"
    "str r0, " BEHIND "\n"
    "ldrd r1, r12, " ABOVE "\n"
    "add r1, r1, r4\n"
    "ldm r10, {r4-r7}\n"
    "b taps_row\n"
    LABEL("taps_above")
    "ldr r0, =taps_below\n"
    "str r0, " BEHIND "\n"
    "ldrd r1, r12, " BELOW "\n"
    "ldr r0, " CHANNEL "\n"
    "add r1, r1, r0\n"
    "b taps_row\n"
    LABEL("taps_below")
    "add r0, sp, #" AT_PADDED_BIAS "\n"
    "stm r0, {r4-r7}\n"
    "str r0, " BIAS_HERE "\n"

    "2: ldr r0, =taps_round\n"
    "str r0, " BEHIND "\n"
    "ldr lr, " OFFSET "\n"
    "ldr pc, " ENTRY "\n"

    LABEL("taps_any")
    "ldr r8, " BIAS_HERE "\n"
    "ldm r8, {r4-r7}\n"
    "ldrd r1, r12, " WEIGHTS_HERE "\n"
    LABEL("taps_row")
    "ldr r0, [r12], #4\n"
    "cmp r0, #0\n"
    "it eq\n ldreq pc, " BEHIND "\n"
    "ldr r8, " OFFSET "\n"
    "add r0, r0, r8\n"
    "ldr lr, " THREES "\n"
    "3: " THREE THREE_ON("r0", "r2") THREE_ON("r1", "r3")
    "subs lr, lr, #1\n"
    "bne 3b\n"
    "ldr pc, " REST "\n"
    LABEL("taps_rest_1") ONE
    "add r1, r1, r3\n"
    "b taps_row\n"
    LABEL("taps_rest_2") TWO
    "add r1, r1, r3, lsl #1\n"
    "b taps_row\n"

    LABEL("taps_3")
    "ldr r8, " BIAS_HERE "\n"
    "ldm r8, {r4-r7}\n"
    "ldrd r1, r12, " WEIGHTS_HERE "\n"
    "ldr r0, [r12], #4\n"
    "4: add r0, r0, lr\n" THREE
    "ldr r0, [r12], #4\n" THREE_ON("r1", "r3")
    "cmp r0, #0\n"
    "bne 4b\n"

    LABEL("taps_round")
    "ldrd r0, r8, " SHIFTS_HERE "\n"
    "ldr r1, " DOUBLED "\n"
    ROUND("r4", "")
    ROUND("r5", ", ror #8")
    ROUND("r6", ", ror #16")
    ROUND("r7", ", ror #24")
    "ldrd r0, r1, " OUTPUT_HERE "\n"  // and end
    "ldr r8, " OFFSET "\n"
    "strb r4, [r0]\n"
    "strb r5, [r0, #1]\n"
    "strb r6, [r0, #2]\n"
    "strb r7, [r0, #3]\n"
    "add r0, r0, r3\n"
    "str r0, " OUTPUT_HERE "\n"
    "ldr r0, " STRIDE "\n"
    "add lr, r8, r0\n"
    "str lr, " OFFSET "\n"
    "cmp lr, r1\n"
    "it ne\n ldrne pc, " ENTRY "\n"

    "ldr r4, " CHANNEL "\n"
    "add r4, r4, #8\n"
    "cmp r4, r3\n"
    "it ls\n subls r4, r4, #4\n"
    "bls 1b\n"
    "sub r0, r4, r3\n"  // channels that four more would be too many
    "cmp r0, #4\n"
    "it lo\n sublo r4, r3, #4\n"  // the last four, some of them again
    "blo 1b\n"

    "add sp, #" LOCALS "\n"
    "pop {r4-r11, lr}\n"
    "add sp, #16\n"
    "bx lr\n"
    ".ltorg\n.popsection\n");

#endif  // TFLFUSE_ARM_DSP
