#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "channels_3x3.h"

// A channel's nine weights stay in registers along the row, and each column of three pixels is loaded once: its upper
// two are a pair for SMLAD. First the sums of the row, then their roundings: both at once need more registers than
// there are. In assembly for the same reason as dot.cc.
//
// r0 top, r1 middle, r2 bottom, r3 step above the lower weight of column 2, r4-r6 the upper weights of each column, r7
// the lower ones of columns 0 and 1; r10 the upper pixels of a column, r11 the lower one; r12 end, lr sums. On the
// stack nine saved registers, then the argument, which begins in r0-r3.

#define SUMS "160"  // bytes
#define STACK(at) "[sp, #" SUMS " + " at "]"
#define END STACK("0")
#define ENTRY STACK("4")
#define STRIDE_ENTRY STACK("8")
#define PADDED_BIAS STACK("12")
#define TOP STACK("52")     // and middle
#define BOTTOM STACK("60")  // and step
#define WEIGHTS STACK("68")  // and pitch
#define PITCH STACK("72")
#define CHANNEL STACK("76")  // and next
#define BIAS STACK("84")     // and multipliers
#define SHIFTS STACK("92")   // and doubled
#define OUTPUT STACK("100")  // and upwards
#define WINDOWS STACK("108")  // and stride
#define PADDED STACK("116")
#define UPPER_PADDING STACK("120")  // and lower
#define UPPER_KEPT STACK("128")     // and lower

#define LABEL(name) ".thumb_func\n" name ":\n"

#define LOAD_WEIGHTS                            \
  "ldrd r9, r8, " WEIGHTS "\n"                  \
  "ldrd r11, r12, " CHANNEL "\n"                \
  "ldrd r0, r1, " TOP "\n"                      \
  "ldrd r2, r3, " BOTTOM "\n"                   \
  "add r9, r9, r11\n"                           \
  "and r12, r12, r11\n"                         \
  "add r0, r0, r12\n"                           \
  "add r10, r8, r8, lsl #1\n"                   \
  "ldrsb r4, [r9]\n"                            \
  "ldrsb r5, [r9, r8]\n"                        \
  "ldrsb r6, [r9, r8, lsl #1]\n"                \
  "add r9, r9, r10\n"                           \
  "ldrsb r11, [r9]\n"                           \
  "pkhbt r4, r4, r11, lsl #16\n"                \
  "ldrsb r11, [r9, r8]\n"                       \
  "pkhbt r5, r5, r11, lsl #16\n"                \
  "ldrsb r11, [r9, r8, lsl #1]\n"               \
  "pkhbt r6, r6, r11, lsl #16\n"                \
  "add r9, r9, r10\n"                           \
  "ldrsb r7, [r9]\n"                            \
  "ldrsb r11, [r9, r8]\n"                       \
  "pkhbt r7, r7, r11, lsl #16\n"                \
  "ldrsb r11, [r9, r8, lsl #1]\n"               \
  "pkhbt r3, r11, r3\n"                         \
  "ldr pc, " ENTRY "\n"

// Moves the share of rows outside the plane from the weights to the bias.
#define PADDING                                 \
  "ldrd r8, r9, " UPPER_PADDING "\n"  \
  "smuad r10, r4, r8\n"                         \
  "smlad r10, r5, r8, r10\n"                    \
  "smlad r10, r6, r8, r10\n"                    \
  "smlad r10, r7, r9, r10\n"                    \
  "smlabb r10, r3, r9, r10\n"                   \
  "str r10, " PADDED_BIAS "\n"        \
  "ldrd r8, r9, " UPPER_KEPT "\n"     \
  "and r4, r4, r8\n"                            \
  "and r5, r5, r8\n"                            \
  "and r6, r6, r8\n"                            \
  "and r7, r7, r9\n"                            \
  "and r11, r3, r9\n"                           \
  "pkhbt r3, r11, r3\n"                         \
  "ldr pc, " STRIDE_ENTRY "\n"

#define COLUMN                        \
  "ldrsb r10, [r0]\n"                 \
  "ldrsb r11, [r0, r1]\n"             \
  "pkhbt r10, r10, r11, lsl #16\n"    \
  "ldrsb r11, [r0, r2]\n"             \
  "add r0, r0, r3, lsr #16\n"

// r8: what the columns so far have added to the window that the next column ends; r9: to the one after.
#define WINDOW1                       \
  COLUMN                              \
  "smlad r8, r10, r6, r8\n"           \
  "smlabb r8, r11, r3, r8\n"          \
  "str r8, [lr], #4\n"                \
  "smlad r8, r10, r5, r9\n"           \
  "smlabt r8, r11, r7, r8\n"          \
  "smuad r9, r10, r4\n"               \
  "smlabb r9, r11, r7, r9\n"

// The first column is at hand: the last of the window before.
#define WINDOW2                       \
  "smuad r8, r10, r4\n"               \
  "smlabb r8, r11, r7, r8\n"          \
  COLUMN                              \
  "smlad r8, r10, r5, r8\n"           \
  "smlabt r8, r11, r7, r8\n"          \
  COLUMN                              \
  "smlad r8, r10, r6, r8\n"           \
  "smlabb r8, r11, r3, r8\n"          \
  "str r8, [lr], #4\n"

// r4 twice the bias, r5 multiplier, r6 addend, r7 halvings; r2 output, r3 pitch.
#define ROUND(x, away, to)            \
  "add " x ", r4, " x ", lsl #1\n"    \
  "smmlar r9, " x ", r5, r6\n" away   \
  "asr r9, r9, r7\n"                  \
  "ssat r9, #8, r9, asr #1\n"         \
  "strb r9, " to "\n"
#define AWAY(x) "add r9, r9, " x ", asr #31\n"  // halves of negative numbers go away from zero
#define NOT_AWAY(x) ""

// An odd number enters with one.
#define ROUNDS(away)                                                                       \
  "bpl 6f\n"                                                                               \
  "ldr r8, [r0], #4\n" ROUND("r8", away("r8"), "[r2]") "add r2, r2, r3\n"                 \
  "cmp r0, r12\n"                                                                          \
  "beq 7f\n"                                                                               \
  "6: ldrd r8, r10, [r0], #8\n"                                                            \
  ROUND("r8", away("r8"), "[r2]") ROUND("r10", away("r10"), "[r2, r3]")                    \
  "add r2, r2, r3, lsl #1\n"                                                               \
  "cmp r0, r12\n"                                                                          \
  "bne 6b\n"

__asm__(
    ".syntax unified\n.thumb\n"
    ".pushsection .text.tflfuse_dsp_channels_3x3, \"ax\", %progbits\n.balign 4\n"

    ".global tflfuse_dsp_channels_3x3\n.type tflfuse_dsp_channels_3x3, %function\n"
    LABEL("tflfuse_dsp_channels_3x3")
    "push {r0-r3}\n"
    "push {r4-r11, lr}\n"
    "sub sp, #" SUMS " + 16\n"
    "ldrd r0, r1, " WINDOWS "\n"
    "add r0, sp, r0, lsl #2\n"
    "str r0, " END "\n"
    "cmp r1, #1\n"
    "ite eq\n"
    "ldreq r2, =channels_stride1\n"
    "ldrne r2, =channels_stride2\n"
    "str r2, " STRIDE_ENTRY "\n"
    "movs r0, #0\n"
    "str r0, " PADDED_BIAS "\n"
    "ldr r1, " PADDED "\n"
    "cmp r1, #0\n"
    "it ne\n"
    "ldrne r2, =channels_padding\n"
    "str r2, " ENTRY "\n"

    "1:\n" LOAD_WEIGHTS
    LABEL("channels_padding") PADDING

    LABEL("channels_stride1")
    "mov lr, sp\n"
    "ldr r12, " END "\n"
    COLUMN
    "smuad r8, r10, r4\n"
    "smlabb r8, r11, r7, r8\n"
    COLUMN
    "smlad r8, r10, r5, r8\n"
    "smlabt r8, r11, r7, r8\n"
    "smuad r9, r10, r4\n"
    "smlabb r9, r11, r7, r9\n"
    "sub r10, r12, lr\n"
    "lsls r10, r10, #29\n"  // an odd number enters in the middle
    "bmi 3f\n"
    "2:\n" WINDOW1
    "3:\n" WINDOW1
    "cmp lr, r12\n"
    "bne 2b\n"
    "b 5f\n"

    LABEL("channels_stride2")
    "mov lr, sp\n"
    "ldr r12, " END "\n"
    COLUMN
    "4:\n" WINDOW2
    "cmp lr, r12\n"
    "bne 4b\n"

    "5: ldrd r8, r9, " BIAS "\n"  // and multipliers
    "ldr r10, " CHANNEL "\n"
    "ldr r4, [r8, r10, lsl #2]\n"
    "ldr r5, [r9, r10, lsl #2]\n"
    "ldrd r8, r6, " SHIFTS "\n"  // and the doubled zero point
    "ldrsb r7, [r8, r10]\n"
    "ldr r8, " PADDED_BIAS "\n"
    "add r4, r4, r8\n"
    "lsl r4, r4, #1\n"
    "mvn r7, r7\n"
    "lsl r6, r6, r7\n"
    "ldrd r2, r8, " OUTPUT "\n"
    "add r2, r2, r10\n"
    "mov r0, sp\n"
    "ldr r3, " PITCH "\n"
    "sub r9, r12, r0\n"
    "cmp r8, #0\n"
    "bne 8f\n"
    "lsls r9, r9, #29\n" ROUNDS(AWAY)
    "b 7f\n"
    "8: lsls r9, r9, #29\n" ROUNDS(NOT_AWAY)

    "7: ldr r8, " CHANNEL "\n"
    "adds r8, r8, #1\n"
    "str r8, " CHANNEL "\n"
    "bne 1b\n"
    "add sp, #" SUMS " + 16\n"
    "pop {r4-r11, lr}\n"
    "add sp, #16\n"
    "bx lr\n"

    ".ltorg\n.popsection\n");

#endif  // TFLFUSE_ARM_DSP
