#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include <stddef.h>

#include "dot.h"

// Eight sums, two words of elements, one of weights, the pitch and two pointers are the fourteen registers that there
// are, which no compiler hands out that way. Hence in assembly: 34 instructions for 32 products.
//
// Four channels' weights are reached with one pitch: 0, 1, 2 and 4 times. With a negative one, from channel 7 on, the
// others of eight: 7, 6, 5, 3. These two sets take turns.
//
// r0 pairs, r1 weights, lr the pitch, r2 r3 the pairs at hand, r12 a word of weights, r4-r7 the sums of the first
// window in the order above, r8-r11 those of the second; for one window r8-r10 are free. What else is wanted lies on
// the stack and in the argument: code that sets up the sums of the first and the second set, that puts them away, and
// that is behind the last channels.

#define ON_STACK "36"  // bytes, in front of nine saved registers
#define END "[sp]"
#define DOT "[sp, #4]"
#define DOUBLED "[sp, #8]"
#define BEGIN_1 "[sp, #12]"
#define ENTRY "[sp, #16]"
#define BEHIND "[sp, #20]"
#define OVER "[sp, #24]"
#define BEGIN_2 "[sp, #28]"

#define AT_PAIRS "0"  // and end
#define AT_WEIGHTS "8"  // and pitch
#define AT_BIAS "16"    // and channels
#define AT_CHANNELS "20"
#define AT_MULTIPLIERS "24"  // and shifts
#define AT_FIRST "32"        // and second
#define AT_SUMS "40"
#define AT_DOUBLED "44"
#define AT_WINDOW "48"  // and stride
#define AT_STEP "56"    // and count
#define AT_COUNT "60"
#define AT_ALL_WEIGHTS "64"  // and channels
static_assert(offsetof(TflfuseDspDot, weights) == 8 && offsetof(TflfuseDspDot, doubled) == 44 &&
                  offsetof(TflfuseDspDot, spare) == 64,
              "the numbers above");

#define FUNCTION(name) ".global " name "\n.type " name ", %function\n.thumb_func\n" name ":\n"
#define LABEL(name) ".thumb_func\n" name ":\n"

// A channel's word of weights by the pairs of both windows.
#define PRODUCTS(from, halves, s, t)                   \
  "ldr r12, " from "\n sxtb16 r12, r12" halves "\n"    \
  "smlad " s ", r12, r2, " s "\n smlad " t ", r12, r3, " t "\n"
#define HALF(halves, first)                            \
  "ldrd r2, r3, [r0], #8\n"                            \
  PRODUCTS("[r1, lr]", halves, "r5", "r9")             \
  PRODUCTS("[r1, lr, lsl #1]", halves, "r6", "r10")    \
  PRODUCTS("[r1, lr, lsl #2]", halves, "r7", "r11")    \
  PRODUCTS(first, halves, "r4", "r8")
#define FOUR HALF("", "[r1]") HALF(", ror #8", "[r1], #4")

// A channel's word of weights by both pairs of one window.
#define PRODUCTS_OF_ONE(from, s)                       \
  "ldr r12, " from "\n"                                \
  "sxtb16 r8, r12\n smlad " s ", r8, r2, " s "\n"      \
  "sxtb16 r8, r12, ror #8\n smlad " s ", r8, r3, " s "\n"
#define FOUR_OF_ONE                                    \
  "ldrd r2, r3, [r0], #8\n"                            \
  PRODUCTS_OF_ONE("[r1, lr]", "r5")                    \
  PRODUCTS_OF_ONE("[r1, lr, lsl #1]", "r6")            \
  PRODUCTS_OF_ONE("[r1, lr, lsl #2]", "r7")            \
  PRODUCTS_OF_ONE("[r1], #4", "r4")

// The same with windows as they lie, the pitch behind each other as the weights are. r0 is in the first of them where
// the pitch is positive, else in the second: r4-r7 are the sums of that one.
#define HALF_AS_IT_LIES(halves, next, first)           \
  "ldr r3, [r0, lr]\n ldr r2, " next "\n"              \
  "sxtb16 r3, r3" halves "\n sxtb16 r2, r2" halves "\n" \
  PRODUCTS("[r1, lr]", halves, "r5", "r9")             \
  PRODUCTS("[r1, lr, lsl #1]", halves, "r6", "r10")    \
  PRODUCTS("[r1, lr, lsl #2]", halves, "r7", "r11")    \
  PRODUCTS(first, halves, "r4", "r8")
#define FOUR_AS_THEY_LIE HALF_AS_IT_LIES("", "[r0]", "[r1]") HALF_AS_IT_LIES(", ror #8", "[r0], #4", "[r1], #4")

// bit: what is set in the bytes of an odd number of fours, which enters the loop in the middle.
#define START(bit, odd, even, begin, behind, over) \
  "push {r4-r11, lr}\n"                     \
  "sub sp, #" ON_STACK "\n"                 \
  "str r0, " DOT "\n"                       \
  "ldrd r2, r3, [r0, #" AT_PAIRS "]\n"      \
  "str r3, " END "\n"                       \
  "sub r3, r3, r2\n"                        \
  "tst r3, #" bit "\n"                      \
  "ite ne\n ldrne r3, =" odd "\n ldreq r3, =" even "\n" \
  "str r3, " ENTRY "\n"                     \
  "ldr r3, [r0, #" AT_DOUBLED "]\n str r3, " DOUBLED "\n" \
  "ldr r3, =" begin "_1\n str r3, " BEGIN_1 "\n" \
  "ldr r3, =" begin "_2\n str r3, " BEGIN_2 "\n" \
  "ldr r3, =" behind "\n str r3, " BEHIND "\n" \
  "ldr r3, =" over "\n str r3, " OVER "\n"
#define START_TWO(begin, behind, over) START("16", "dot_odd", "dot_even", begin, behind, over)
#define START_ONE(begin, behind) START("8", "dot_one_odd", "dot_one_even", begin, behind, "dot_return")
#define GO "ldr pc, " BEGIN_1 "\n"

// The sums r4-r7 from the bias. r12: the argument.
#define BIAS                                          \
  "ldrd r3, r2, [r12, #" AT_BIAS "]\n"                \
  "add r3, r3, r2, lsl #2\n"
#define BIAS_1 BIAS "ldm r3, {r4-r6}\n ldr r7, [r3, #16]\n"
#define BIAS_2 BIAS "ldr r7, [r3, #12]\n ldrd r6, r5, [r3, #20]\n ldr r4, [r3, #28]\n"
#define SAME_BIAS "mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n"

// The set's weights, then into the loop.
#define SUM_1                                \
  "ldrd r1, lr, [r12, #" AT_WEIGHTS "]\n"    \
  "ldr r0, [r12, #" AT_PAIRS "]\n"           \
  "ldr pc, " ENTRY "\n"
#define SUM_2                                \
  "ldrd r1, lr, [r12, #" AT_WEIGHTS "]\n"    \
  "ldr r0, [r12, #" AT_PAIRS "]\n"           \
  "rsb r2, lr, lr, lsl #3\n"                 \
  "add r1, r1, r2\n"                         \
  "neg lr, lr\n"                             \
  "ldr pc, " ENTRY "\n"

// Of what is behind the products, the part for each set. lr is negative behind those of the second.
#define BY_SET(first, second) "cmp lr, #0\n bmi 2f\n" first "ldr pc, " BEGIN_2 "\n 2:\n" second

// To the next eight channels, or over.
#define NEXT                                 \
  "ldr r12, " DOT "\n"                       \
  "ldrd r1, r2, [r12, #" AT_WEIGHTS "]\n"    \
  "add r1, r1, r2, lsl #3\n"                 \
  "str r1, [r12, #" AT_WEIGHTS "]\n"         \
  "ldr r2, [r12, #" AT_CHANNELS "]\n"        \
  "adds r2, r2, #8\n"                        \
  "str r2, [r12, #" AT_CHANNELS "]\n"        \
  "it ne\n ldrne pc, " BEGIN_1 "\n"         \
  "ldr pc, " OVER "\n"

// As SUM_1 and SUM_2, for windows as they lie.
#define SUM_LYING_1                          \
  "ldrd r1, lr, [r12, #" AT_WEIGHTS "]\n"    \
  "ldr r0, [r12, #" AT_WINDOW "]\n"          \
  "add r2, r0, lr\n str r2, " END "\n"       \
  "ldr pc, " ENTRY "\n"
#define SUM_LYING_2                          \
  "ldrd r1, lr, [r12, #" AT_WEIGHTS "]\n"    \
  "ldr r0, [r12, #" AT_WINDOW "]\n"          \
  "rsb r2, lr, lr, lsl #3\n"                 \
  "add r1, r1, r2\n"                         \
  "add r0, r0, lr\n"                         \
  "add r2, r0, lr\n str r2, " END "\n"       \
  "neg lr, lr\n"                             \
  "ldr pc, " ENTRY "\n"

#define ARGUMENT "ldr r12, " DOT "\n"
#define LOAD_SUMS(sums) ARGUMENT "ldr r3, [r12, #" AT_SUMS "]\n ldm r3, {" sums "}\n"
#define TAKE_SUMS(sums) ARGUMENT "ldr r3, [r12, #" AT_SUMS "]\n ldm r3!, {" sums "}\n str r3, [r12, #" AT_SUMS "]\n"
#define KEEP_SUMS(sums) ARGUMENT "ldr r3, [r12, #" AT_SUMS "]\n stm r3!, {" sums "}\n str r3, [r12, #" AT_SUMS "]\n"

// With the multiplier r12, the halvings lr and the addend r1.
#define ROUND(x)                 \
  "lsl " x ", " x ", #1\n"       \
  "smmlar r3, " x ", r12, r1\n"  \
  "add r3, r3, " x ", asr #31\n" \
  "asr r3, r3, lr\n"             \
  "ssat " x ", #8, r3, asr #1\n"

// A channel's sum, and what else is to be rounded like it.
#define CHANNEL(x, other, multiplier)         \
  "ldr r12, [r0, #" multiplier "]\n"          \
  "ldr r1, " DOUBLED "\n"                     \
  "lsl r1, r1, lr\n"                          \
  ROUND(x) other
#define HALVINGS(rotation) "uxtb lr, r2" rotation "\n"

// r0 the multipliers, r2 the shifts of the eight channels at hand.
#define PARAMETERS                            \
  "ldr r12, " DOT "\n"                        \
  "ldr r3, [r12, #" AT_CHANNELS "]\n"         \
  "ldrd r0, r2, [r12, #" AT_MULTIPLIERS "]\n" \
  "add r0, r0, r3, lsl #2\n"                  \
  "add r2, r2, r3\n"
#define ROUND_1(a, b, c, d)                   \
  PARAMETERS                                  \
  "ldrsb lr, [r2]\n mvn lr, lr\n"             \
  CHANNEL("r4", a, "0")                       \
  "ldr r2, [r2, #1]\n mvn r2, r2\n"           \
  HALVINGS("") CHANNEL("r5", b, "4")          \
  HALVINGS(", ror #8") CHANNEL("r6", c, "8")  \
  HALVINGS(", ror #24") CHANNEL("r7", d, "16")
#define ROUND_2(a, b, c, d)                   \
  PARAMETERS                                  \
  "ldrsb lr, [r2, #3]\n mvn lr, lr\n"         \
  CHANNEL("r7", d, "12")                      \
  "ldr r2, [r2, #4]\n mvn r2, r2\n"           \
  HALVINGS(", ror #8") CHANNEL("r6", c, "20") \
  HALVINGS(", ror #16") CHANNEL("r5", b, "24") \
  HALVINGS(", ror #24") CHANNEL("r4", a, "28")
#define ROUND_TWO(set) set(ROUND("r8"), ROUND("r9"), ROUND("r10"), ROUND("r11"))

#define BYTES_1(p, a, b, c, d) \
  "strb " a ", [" p "]\n strb " b ", [" p ", #1]\n strb " c ", [" p ", #2]\n strb " d ", [" p ", #4]\n"
#define BYTES_2(p, a, b, c, d) \
  "strb " a ", [" p ", #7]\n strb " b ", [" p ", #6]\n strb " c ", [" p ", #5]\n strb " d ", [" p ", #3]\n"
#define STORE_TWO(bytes)                \
  "ldr r12, " DOT "\n"                  \
  "ldrd r0, r3, [r12, #" AT_FIRST "]\n" \
  "ldr r2, [r12, #" AT_CHANNELS "]\n"   \
  "add r0, r0, r2\n add r3, r3, r2\n"   \
  bytes("r0", "r4", "r5", "r6", "r7")   \
  bytes("r3", "r8", "r9", "r10", "r11")
#define STORE_TWO_EXCHANGED(bytes)      \
  "ldr r12, " DOT "\n"                  \
  "ldrd r3, r0, [r12, #" AT_FIRST "]\n" \
  "ldr r2, [r12, #" AT_CHANNELS "]\n"   \
  "add r0, r0, r2\n add r3, r3, r2\n"   \
  bytes("r0", "r4", "r5", "r6", "r7")   \
  bytes("r3", "r8", "r9", "r10", "r11")
#define STORE_ONE(bytes)                \
  "ldr r12, " DOT "\n"                  \
  "ldr r0, [r12, #" AT_FIRST "]\n"      \
  "ldr r2, [r12, #" AT_CHANNELS "]\n"   \
  "add r0, r0, r2\n"                    \
  bytes("r0", "r4", "r5", "r6", "r7")

// The next two windows to pairs.
#define WIDEN                             \
  "ldrd r0, r2, [r12, #" AT_WINDOW "]\n"  \
  "add r3, r0, r2\n"                      \
  "add r2, r3, r2\n"                      \
  "str r2, [r12, #" AT_WINDOW "]\n"       \
  "ldrd r9, r10, [r12, #" AT_PAIRS "]\n"  \
  "7: ldr r6, [r0], #4\n"                 \
  "ldr r7, [r3], #4\n"                    \
  "sxtb16 r4, r6\n"                       \
  "sxtb16 r5, r7\n"                       \
  "sxtb16 r6, r6, ror #8\n"               \
  "sxtb16 r7, r7, ror #8\n"               \
  "stm r9!, {r4-r7}\n"                    \
  "cmp r9, r10\n"                         \
  "bne 7b\n"

// Back to the first channels, for the outputs of the next two windows; over where there are none.
#define NEXT_PAIR                              \
  "ldrd r0, r2, [r12, #" AT_FIRST "]\n"        \
  "ldrd r3, r4, [r12, #" AT_STEP "]\n"         \
  "add r0, r0, r3\n"                           \
  "add r2, r2, r3\n"                           \
  "strd r0, r2, [r12, #" AT_FIRST "]\n"        \
  "ldrd r1, r2, [r12, #" AT_ALL_WEIGHTS "]\n"  \
  "str r1, [r12, #" AT_WEIGHTS "]\n"           \
  "str r2, [r12, #" AT_CHANNELS "]\n"          \
  "subs r4, r4, #1\n"                          \
  "str r4, [r12, #" AT_COUNT "]\n"

#define TWO "r4-r11"
#define ONE "r4-r7"

__asm__(
    ".syntax unified\n.thumb\n"
    ".pushsection .text.tflfuse_dsp_dot, \"ax\", %progbits\n.balign 4\n"

    LABEL("dot_even") FOUR
    LABEL("dot_odd") FOUR
    "ldr r12, " END "\n"
    "cmp r0, r12\n"
    "bne dot_even\n"
    "ldr pc, " BEHIND "\n"

    LABEL("dot_lying_even") FOUR_AS_THEY_LIE
    LABEL("dot_lying_odd") FOUR_AS_THEY_LIE
    "ldr r12, " END "\n"
    "cmp r0, r12\n"
    "bne dot_lying_even\n"
    "ldr pc, " BEHIND "\n"

    LABEL("dot_one_even") FOUR_OF_ONE
    LABEL("dot_one_odd") FOUR_OF_ONE
    "ldr r12, " END "\n"
    "cmp r0, r12\n"
    "bne dot_one_even\n"
    "ldr pc, " BEHIND "\n"

    LABEL("dot_from_bias_1") ARGUMENT BIAS_1 SAME_BIAS SUM_1
    LABEL("dot_from_bias_2") ARGUMENT BIAS_2 SAME_BIAS SUM_2
    LABEL("dot_load_sums_1") LOAD_SUMS(TWO) SUM_1
    LABEL("dot_load_sums_2") LOAD_SUMS(TWO) SUM_2
    LABEL("dot_take_sums_1") TAKE_SUMS(TWO) SUM_1
    LABEL("dot_take_sums_2") TAKE_SUMS(TWO) SUM_2
    LABEL("dot_keep") KEEP_SUMS(TWO) BY_SET("", NEXT)
    LABEL("dot_round") BY_SET(ROUND_TWO(ROUND_1) STORE_TWO(BYTES_1), ROUND_TWO(ROUND_2) STORE_TWO(BYTES_2) NEXT)

    LABEL("dot_lying_1") ARGUMENT BIAS_1 SAME_BIAS SUM_LYING_1
    LABEL("dot_lying_2") ARGUMENT BIAS_2 SAME_BIAS SUM_LYING_2
    LABEL("dot_lying_round") BY_SET(ROUND_TWO(ROUND_1) STORE_TWO(BYTES_1),
                                    ROUND_TWO(ROUND_2) STORE_TWO_EXCHANGED(BYTES_2) NEXT)

    LABEL("dot_one_from_bias_1") ARGUMENT BIAS_1 SUM_1
    LABEL("dot_one_from_bias_2") ARGUMENT BIAS_2 SUM_2
    LABEL("dot_one_load_sums_1") LOAD_SUMS(ONE) SUM_1
    LABEL("dot_one_load_sums_2") LOAD_SUMS(ONE) SUM_2
    LABEL("dot_one_take_sums_1") TAKE_SUMS(ONE) SUM_1
    LABEL("dot_one_take_sums_2") TAKE_SUMS(ONE) SUM_2
    LABEL("dot_one_keep") KEEP_SUMS(ONE) BY_SET("", NEXT)
    LABEL("dot_one_round") BY_SET(ROUND_1("", "", "", "") STORE_ONE(BYTES_1),
                                  ROUND_2("", "", "", "") STORE_ONE(BYTES_2) NEXT)
    ".ltorg\n"

    FUNCTION("tflfuse_dsp_dot_start") START_TWO("dot_from_bias", "dot_keep", "dot_return") GO
    FUNCTION("tflfuse_dsp_dot_more") START_TWO("dot_load_sums", "dot_keep", "dot_return") GO
    FUNCTION("tflfuse_dsp_dot_last") START_TWO("dot_take_sums", "dot_round", "dot_return") GO
    FUNCTION("tflfuse_dsp_dot_whole") START_TWO("dot_from_bias", "dot_round", "dot_return") GO
    FUNCTION("tflfuse_dsp_dot_one_start") START_ONE("dot_one_from_bias", "dot_one_keep") GO
    FUNCTION("tflfuse_dsp_dot_one_more") START_ONE("dot_one_load_sums", "dot_one_keep") GO
    FUNCTION("tflfuse_dsp_dot_one_last") START_ONE("dot_one_take_sums", "dot_one_round") GO
    FUNCTION("tflfuse_dsp_dot_one_whole") START_ONE("dot_one_from_bias", "dot_one_round") GO

    FUNCTION("tflfuse_dsp_dot_lying")
    START("16", "dot_lying_odd", "dot_lying_even", "dot_lying", "dot_lying_round", "dot_next_lying")
    "ldr r1, [r0, #" AT_WEIGHTS "]\n"
    "ldr r2, [r0, #" AT_CHANNELS "]\n"
    "strd r1, r2, [r0, #" AT_ALL_WEIGHTS "]\n"
    GO
    LABEL("dot_next_lying")
    "ldr r12, " DOT "\n"
    "ldrd r0, r1, [r12, #" AT_WINDOW "]\n"
    "add r0, r0, r1, lsl #1\n"
    "str r0, [r12, #" AT_WINDOW "]\n" NEXT_PAIR
    "beq dot_return\n" GO

    FUNCTION("tflfuse_dsp_dot_row") START_TWO("dot_from_bias", "dot_round", "dot_next_pair")
    "ldr r1, [r0, #" AT_WEIGHTS "]\n"
    "ldr r2, [r0, #" AT_CHANNELS "]\n"
    "strd r1, r2, [r0, #" AT_ALL_WEIGHTS "]\n"
    "mov r12, r0\n"
    "1:\n" WIDEN GO
    LABEL("dot_next_pair")
    "ldr r12, " DOT "\n" NEXT_PAIR
    "bne 1b\n"
    LABEL("dot_return")
    "add sp, #" ON_STACK "\n"
    "pop {r4-r11, pc}\n"
    ".ltorg\n.popsection\n");

#endif  // TFLFUSE_ARM_DSP
