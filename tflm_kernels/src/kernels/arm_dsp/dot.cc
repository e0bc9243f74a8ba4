#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "dot.h"

// Eight sums, two words of elements, one of weights, the pitch and two pointers are the fourteen registers that there
// are, which no compiler hands out that way. Hence in assembly: 34 instructions for 32 products where elements are
// wide; zipped, which takes half the memory and half the loads, 38.
//
// Four channels' weights are reached with one pitch: 0, 1, 2 and 4 times. With a negative one, from channel 7 on, the
// others of eight: 7, 6, 5, 3. These two sets take turns.
//
// r0 elements, r1 weights, lr the pitch, r2 r3 the elements at hand, r12 a word of weights, r4-r7 the sums of the first
// window in the order above, r8-r11 those of the second; for one window r8 is a second word of weights, r9 the end and
// r10, r11 are free. What else is wanted lies on the stack and in the argument: code that sets up the sums of the first
// and the second set, that puts them away, and that is behind the last channels.

// On the stack: what a mode sets up, nine saved registers, and the argument, which begins in r0-r3.
#define LOCALS "28"
#define BEGIN_1 "[sp]"
#define BEGIN_2 "[sp, #4]"
#define BEHIND "[sp, #8]"
#define OVER "[sp, #12]"
#define ENTRY "[sp, #16]"
#define ALL_WEIGHTS "[sp, #20]"  // and channels
#define ELEMENTS "[sp, #64]"     // and end
#define END "[sp, #68]"
#define WEIGHTS "[sp, #72]"  // and pitch
#define BIAS "[sp, #80]"     // and channels
#define CHANNELS "[sp, #84]"
#define MULTIPLIERS "[sp, #88]"  // and shifts
#define FIRST "[sp, #96]"       // and second
#define SUMS "[sp, #104]"
#define DOUBLED "[sp, #108]"
#define WINDOW "[sp, #112]"  // and stride
#define STEP "[sp, #120]"    // and count
#define COUNT "[sp, #124]"
#define FOURS "[sp, #128]"
#define MODE "[sp, #132]"

#define LABEL(name) ".thumb_func\n" name ":\n"

// A channel's word of weights by the elements of both windows.
#define PRODUCTS(from, halves, s, t)                   \
  "ldr r12, " from "\n sxtb16 r12, r12" halves "\n"    \
  "smlad " s ", r12, r2, " s "\n smlad " t ", r12, r3, " t "\n"
#define HALF(elements, halves, first)                  \
  elements                                             \
  PRODUCTS("[r1, lr]", halves, "r5", "r9")             \
  PRODUCTS("[r1, lr, lsl #1]", halves, "r6", "r10")    \
  PRODUCTS("[r1, lr, lsl #2]", halves, "r7", "r11")    \
  PRODUCTS(first, halves, "r4", "r8")
#define FOUR(elements) HALF(elements, "", "[r1]") HALF(elements, ", ror #8", "[r1], #4")
#define WIDE "ldrd r2, r3, [r0], #8\n"
#define ZIPPED "ldr r3, [r0], #4\n sxtb16 r2, r3\n sxtb16 r3, r3, ror #8\n"
#define WIDE_BYTES "136"  // of code
#define ZIPPED_BYTES "152"

// A channel's word of weights by the elements of one window.
#define PRODUCTS_OF_ONE(from, s)                       \
  "ldr r12, " from "\n"                                \
  "sxtb16 r8, r12\n smlad " s ", r8, r2, " s "\n"      \
  "sxtb16 r8, r12, ror #8\n smlad " s ", r8, r3, " s "\n"
#define FOUR_OF_ONE ZIPPED                             \
  PRODUCTS_OF_ONE("[r1, lr]", "r5")                    \
  PRODUCTS_OF_ONE("[r1, lr, lsl #1]", "r6")            \
  PRODUCTS_OF_ONE("[r1, lr, lsl #2]", "r7")            \
  PRODUCTS_OF_ONE("[r1], #4", "r4")
#define ONE_BYTES "92"

// A number of fours that is no multiple of four enters in the middle.
#define LOOP(name, four) LABEL(name) four four four four
#define UNTIL_END(name)    \
  "ldr r12, " END "\n"     \
  "cmp r0, r12\n"          \
  "bne " name "\n"         \
  "ldr pc, " BEHIND "\n"

// A mode: where it begins, sums up the first and the second set, puts them away, rounded as usual or upwards, goes
// behind the last channels; its loop, and the code bytes of a four there.
#define A_MODE(first, begin, behind, upwards, over, loop, bytes) \
  ".word " first ", " begin "_1, " begin "_2, " behind ", " over ", " loop ", " bytes ", " upwards "\n"
#define MODES(loop, bytes, of)                                                                                \
  A_MODE(of "from_bias_1", of "from_bias", of "keep", of "keep", "dot_return", loop, bytes)                   \
  A_MODE(of "load_sums_1", of "load_sums", of "keep", of "keep", "dot_return", loop, bytes)                   \
  A_MODE(of "take_sums_1", of "take_sums", of "round", of "round_up", "dot_return", loop, bytes)              \
  A_MODE(of "from_bias_1", of "from_bias", of "round", of "round_up", "dot_return", loop, bytes)
#define ROWS(loop, bytes, lie) \
  A_MODE("dot_row_" lie, "dot_from_bias", "dot_round", "dot_round_up", "dot_next_" lie, loop, bytes)

// The sums r4-r7 from the bias.
#define BIAS_HERE                             \
  "ldrd r3, r2, " BIAS "\n"                   \
  "add r3, r3, r2, lsl #2\n"
#define BIAS_1 BIAS_HERE "ldm r3, {r4-r6}\n ldr r7, [r3, #16]\n"
#define BIAS_2 BIAS_HERE "ldr r7, [r3, #12]\n ldrd r6, r5, [r3, #20]\n ldr r4, [r3, #28]\n"
#define SAME_BIAS "mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n"

// The set's weights, then into the loop.
#define SUM_1                                \
  "ldrd r1, lr, " WEIGHTS "\n"    \
  "ldr r0, " ELEMENTS "\n"        \
  "ldr pc, " ENTRY "\n"
#define SUM_2                                \
  "ldrd r1, lr, " WEIGHTS "\n"    \
  "ldr r0, " ELEMENTS "\n"        \
  "rsb r2, lr, lr, lsl #3\n"                 \
  "add r1, r1, r2\n"                         \
  "neg lr, lr\n"                             \
  "ldr pc, " ENTRY "\n"

// Of what is behind the products, the part for each set. lr is negative behind those of the second.
#define BY_SET(first, second) "cmp lr, #0\n bmi 2f\n" first "ldr pc, " BEGIN_2 "\n 2:\n" second

// To the next eight channels, or over.
#define NEXT                                 \
  "ldrd r1, r2, " WEIGHTS "\n"    \
  "add r1, r1, r2, lsl #3\n"                 \
  "str r1, " WEIGHTS "\n"         \
  "ldr r2, " CHANNELS "\n"        \
  "adds r2, r2, #8\n"                        \
  "str r2, " CHANNELS "\n"        \
  "it ne\n ldrne pc, " BEGIN_1 "\n"         \
  "ldr pc, " OVER "\n"

#define LOAD_SUMS(sums) "ldr r3, " SUMS "\n ldm r3, {" sums "}\n"
#define TAKE_SUMS(sums) "ldr r3, " SUMS "\n ldm r3!, {" sums "}\n str r3, " SUMS "\n"
#define KEEP_SUMS(sums) "ldr r3, " SUMS "\n stm r3!, {" sums "}\n str r3, " SUMS "\n"

// With the multiplier r12, the halvings lr and the addend r1.
#define ROUND_AWAY(x)            \
  "lsl " x ", " x ", #1\n"       \
  "smmlar r3, " x ", r12, r1\n"  \
  "add r3, r3, " x ", asr #31\n" \
  "asr r3, r3, lr\n"             \
  "ssat " x ", #8, r3, asr #1\n"
#define ROUND_UP(x)              \
  "lsl " x ", " x ", #1\n"       \
  "smmlar r3, " x ", r12, r1\n"  \
  "asr r3, r3, lr\n"             \
  "ssat " x ", #8, r3, asr #1\n"

// A channel's parameters, and what rounds its sums.
#define CHANNEL(rounded, multiplier, doubled) \
  "ldr r12, [r0, #" multiplier "]\n"             \
  "lsl r1, " doubled ", lr\n" rounded
#define HALVINGS(rotation) "uxtb lr, r2" rotation "\n"

// r0 the multipliers, r2 the shifts of the eight channels at hand.
#define PARAMETERS                \
  "ldr r3, " CHANNELS "\n"        \
  "ldrd r0, r2, " MULTIPLIERS "\n" \
  "ldr r1, " DOUBLED "\n"         \
  "add r0, r0, r3, lsl #2\n"      \
  "add r2, r2, r3\n"
#define ROUND_1(a, b, c, d, then, doubled)             \
  "ldrsb lr, [r2]\n mvn lr, lr\n"                      \
  CHANNEL(a, "0", "r1") then                     \
  "ldr r2, [r2, #1]\n mvn r2, r2\n"                    \
  HALVINGS("") CHANNEL(b, "4", doubled)          \
  HALVINGS(", ror #8") CHANNEL(c, "8", doubled)  \
  HALVINGS(", ror #24") CHANNEL(d, "16", doubled)
#define ROUND_2(a, b, c, d, then, doubled)             \
  "ldrsb lr, [r2, #3]\n mvn lr, lr\n"                  \
  CHANNEL(d, "12", "r1") then                    \
  "ldr r2, [r2, #4]\n mvn r2, r2\n"                    \
  HALVINGS(", ror #8") CHANNEL(c, "20", doubled) \
  HALVINGS(", ror #16") CHANNEL(b, "24", doubled) \
  HALVINGS(", ror #24") CHANNEL(a, "28", doubled)
// Both windows' outputs of the first channel share a register, so that the doubled zero point has one.
#define SHARE(x, y) "pkhbt " x ", " x ", " y ", lsl #16\n ldr " y ", " DOUBLED "\n"
#define ROUND_TWO_1(R)                                                                                  \
  PARAMETERS ROUND_1(R("r4") R("r8"), R("r5") R("r9"), R("r6") R("r10"), R("r7") R("r11"), SHARE("r4", "r8"), "r8")
#define ROUND_TWO_2(R)                                                                                  \
  PARAMETERS ROUND_2(R("r4") R("r8"), R("r5") R("r9"), R("r6") R("r10"), R("r7") R("r11"), SHARE("r7", "r11"), "r11")
#define ROUND_ONE(set, R) PARAMETERS "mov r8, r1\n" set(R("r4"), R("r5"), R("r6"), R("r7"), "", "r8")

#define BYTES_1(p, b, c, d) "strb " b ", [" p ", #1]\n strb " c ", [" p ", #2]\n strb " d ", [" p ", #4]\n"
#define BYTES_2(p, a, b, c) "strb " a ", [" p ", #7]\n strb " b ", [" p ", #6]\n strb " c ", [" p ", #5]\n"
#define STORE_TWO(shared, at, first, second)            \
  "ldrd r0, r3, " FIRST "\n"                            \
  "ldr r2, " CHANNELS "\n"                              \
  "add r0, r0, r2\n add r3, r3, r2\n"                   \
  "strb " shared ", [r0, #" at "]\n"                    \
  "lsr " shared ", " shared ", #16\n"                   \
  "strb " shared ", [r3, #" at "]\n"                    \
  first second
#define STORE_TWO_1 STORE_TWO("r4", "0", BYTES_1("r0", "r5", "r6", "r7"), BYTES_1("r3", "r9", "r10", "r11"))
#define STORE_TWO_2 STORE_TWO("r7", "3", BYTES_2("r0", "r4", "r5", "r6"), BYTES_2("r3", "r8", "r9", "r10"))
#define STORE_ONE(shared, at, others)                   \
  "ldr r0, " FIRST "\n"                                 \
  "ldr r2, " CHANNELS "\n"                              \
  "add r0, r0, r2\n"                                    \
  "strb " shared ", [r0, #" at "]\n" others
#define STORE_ONE_1 STORE_ONE("r4", "0", BYTES_1("r0", "r5", "r6", "r7"))
#define STORE_ONE_2 STORE_ONE("r7", "3", BYTES_2("r0", "r4", "r5", "r6"))

// The next two windows, four elements of each in r6 and r7.
#define NEXT_ELEMENTS(convert)                    \
  "ldrd r0, r2, " WINDOW "\n"     \
  "add r3, r0, r2\n"                         \
  "add r2, r3, r2\n"                         \
  "str r2, " WINDOW "\n"          \
  "ldrd r9, r10, " ELEMENTS "\n"  \
  "7: ldr r6, [r0], #4\n"                    \
  "ldr r7, [r3], #4\n"                       \
  convert                                    \
  "cmp r9, r10\n"                            \
  "bne 7b\n"                                 \
  "ldr pc, " BEGIN_1 "\n"
#define WIDEN                                \
  "sxtb16 r4, r6\n"                          \
  "sxtb16 r5, r7\n"                          \
  "sxtb16 r6, r6, ror #8\n"                  \
  "sxtb16 r7, r7, ror #8\n"                  \
  "stm r9!, {r4-r7}\n"
#define ZIP                                  \
  "uxtb16 r4, r6\n"                          \
  "uxtb16 r5, r7\n"                          \
  "orr r4, r4, r5, lsl #8\n"                 \
  "uxtb16 r6, r6, ror #8\n"                  \
  "bic r7, r7, #0x00FF00FF\n"                \
  "orr r5, r6, r7\n"                         \
  "stm r9!, {r4, r5}\n"

// Back to the first channels, for the outputs of the next two windows; over where there are none.
#define NEXT_PAIR(elements)                    \
  "ldrd r0, r2, " FIRST "\n"        \
  "ldrd r3, r4, " STEP "\n"         \
  "add r0, r0, r3\n"                           \
  "add r2, r2, r3\n"                           \
  "strd r0, r2, " FIRST "\n"        \
  "ldrd r1, r2, " ALL_WEIGHTS "\n"  \
  "str r1, " WEIGHTS "\n"           \
  "str r2, " CHANNELS "\n"          \
  "subs r4, r4, #1\n"                          \
  "str r4, " COUNT "\n"             \
  "bne " elements "\n"                         \
  "b dot_return\n"

#define TWO "r4-r11"
#define ONE "r4-r7"
#define SUM_ONE(sum) "ldr r9, " END "\n" sum

__asm__(
    ".syntax unified\n.thumb\n"
    ".pushsection .text.tflfuse_dsp_dot, \"ax\", %progbits\n.balign 4\n"

    LOOP("dot_wide", FOUR(WIDE)) UNTIL_END("dot_wide")
    LOOP("dot_zipped", FOUR(ZIPPED)) UNTIL_END("dot_zipped")
    LOOP("dot_one", FOUR_OF_ONE) "cmp r0, r9\n bne dot_one\n ldr pc, " BEHIND "\n"

    LABEL("dot_from_bias_1") BIAS_1 SAME_BIAS SUM_1
    LABEL("dot_from_bias_2") BIAS_2 SAME_BIAS SUM_2
    LABEL("dot_load_sums_1") LOAD_SUMS(TWO) SUM_1
    LABEL("dot_load_sums_2") LOAD_SUMS(TWO) SUM_2
    LABEL("dot_take_sums_1") TAKE_SUMS(TWO) SUM_1
    LABEL("dot_take_sums_2") TAKE_SUMS(TWO) SUM_2
    LABEL("dot_keep") KEEP_SUMS(TWO) BY_SET("", NEXT)
    LABEL("dot_round") BY_SET(ROUND_TWO_1(ROUND_AWAY) STORE_TWO_1, ROUND_TWO_2(ROUND_AWAY) STORE_TWO_2 NEXT)
    LABEL("dot_round_up") BY_SET(ROUND_TWO_1(ROUND_UP) STORE_TWO_1, ROUND_TWO_2(ROUND_UP) STORE_TWO_2 NEXT)

    LABEL("dot_one_from_bias_1") BIAS_1 SUM_ONE(SUM_1)
    LABEL("dot_one_from_bias_2") BIAS_2 SUM_ONE(SUM_2)
    LABEL("dot_one_load_sums_1") LOAD_SUMS(ONE) SUM_ONE(SUM_1)
    LABEL("dot_one_load_sums_2") LOAD_SUMS(ONE) SUM_ONE(SUM_2)
    LABEL("dot_one_take_sums_1") TAKE_SUMS(ONE) SUM_ONE(SUM_1)
    LABEL("dot_one_take_sums_2") TAKE_SUMS(ONE) SUM_ONE(SUM_2)
    LABEL("dot_one_keep") KEEP_SUMS(ONE) BY_SET("", NEXT)
    LABEL("dot_one_round_up")  // not worth code of its own
    LABEL("dot_one_round") BY_SET(ROUND_ONE(ROUND_1, ROUND_AWAY) STORE_ONE_1,
                                  ROUND_ONE(ROUND_2, ROUND_AWAY) STORE_ONE_2 NEXT)

    LABEL("dot_row_wide") NEXT_ELEMENTS(WIDEN)
    LABEL("dot_row_zipped") NEXT_ELEMENTS(ZIP)
    LABEL("dot_next_wide") NEXT_PAIR("dot_row_wide")
    LABEL("dot_next_zipped") NEXT_PAIR("dot_row_zipped")

    ".global tflfuse_dsp_dot\n.type tflfuse_dsp_dot, %function\n"
    LABEL("tflfuse_dsp_dot")
    "push {r0-r3}\n"
    "push {r4-r11, lr}\n"
    "sub sp, #" LOCALS "\n"
    "ldr r9, " MODE "\n"
    "and r1, r9, #31\n"
    "ldr r2, =dot_modes\n"
    "add r1, r2, r1, lsl #5\n"
    "ldm r1, {r1-r8}\n"
    "tst r9, #32\n"
    "it ne\n movne r4, r8\n"
    "ldr r8, " FOURS "\n"
    "rsb r8, r8, #0\n"
    "and r8, r8, #3\n"
    "mla r6, r7, r8, r6\n"
    "stm sp, {r2-r6}\n"
    "ldr r2, " WEIGHTS "\n"
    "ldr r3, " CHANNELS "\n"
    "strd r2, r3, " ALL_WEIGHTS "\n"
    "bx r1\n"
    LABEL("dot_return")
    "add sp, #" LOCALS "\n"
    "pop {r4-r11, lr}\n"
    "add sp, #16\n"
    "bx lr\n"
    ".ltorg\n"

    ".balign 4\n"
    "dot_modes:\n"
    MODES("dot_wide", WIDE_BYTES, "dot_") ROWS("dot_wide", WIDE_BYTES, "wide")
    MODES("dot_zipped", ZIPPED_BYTES, "dot_") ROWS("dot_zipped", ZIPPED_BYTES, "zipped")
    MODES("dot_one", ONE_BYTES, "dot_one_")
    ".popsection\n");

#endif  // TFLFUSE_ARM_DSP
