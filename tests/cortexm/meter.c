/* A plugin for QEMU that counts what the harness does between its marks, exactly.
 *   -plugin meter.so,marks=0x..,ram=0x..,top=0x..,code=0x..,out=FILE
 * marks: address of the harness's two words, behind the stack. ram, top: begin and end of SRAM, which begins with the
 * stack; every other address counts as flash. code: where the program begins.
 *
 * FILE, a line for each span in the order of the marks, each followed by its stages; in the end the whole of them:
 *   span INSTRUCTIONS SRAM_LOADED SRAM_STORED FLASH_LOADED LOWEST CODE        (bytes)
 *   stage NUMBER ROWS INSTRUCTIONS SRAM_LOADED SRAM_STORED FLASH_LOADED LOWEST CODE
 *   code ADDRESS TIMES                                            (instructions executed in any span)
 * LOWEST: the lowest address of the stack that was stored to. CODE: bytes of instructions that were executed at all.
 *
 * A stage is told by the executor's own bookkeeping: when it has made or consumed a row it counts that in uint16_t
 * number `stage` at the begin of its scratch memory, the only stores of two bytes there.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Version 1 of QEMU's plugin interface, which no package has a header of. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { QEMU_PLUGIN_INLINE_ADD_U64 = 0 };
enum { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum { QEMU_PLUGIN_MEM_RW = 3 };
typedef uint64_t qemu_plugin_id_t;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn*, int operation, void* counter, uint64_t);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn*,
                                      void (*)(unsigned cpu, uint32_t access, uint64_t address, void* data), int flags,
                                      int accesses, void* data);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb*, void (*)(unsigned cpu, void* data), int flags,
                                          void* data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void* data), void* data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn*);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn*);
unsigned qemu_plugin_mem_size_shift(uint32_t access);
bool qemu_plugin_mem_is_store(uint32_t access);

#define VISIBLE __attribute__((visibility("default")))
VISIBLE int qemu_plugin_version = 1;
VISIBLE int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int argc, char** argv);

enum { STAGES = 128 };
enum { CODE_WORDS = 512 }; /* of 64 halfwords each: 64 KB of code */

struct counts {
  uint64_t instructions, loaded, stored, flash;
};

/* The lowest stored address of the stack, and a bit for each halfword that was executed. */
struct traces {
  uint64_t lowest;
  uint64_t code[CODE_WORDS];
};

struct stage {
  uint64_t rows;
  struct counts counts;
  struct traces traces;
};

/* A run of instructions that QEMU has translated. */
struct block {
  struct block* next;
  uint64_t times;
  uint64_t row; /* in which it was last executed */
  uint64_t bytes;
  size_t length;
  uint64_t addresses[];
};

static uint64_t marks, ram, top, code;
static FILE* out;
static struct counts now; /* instructions: since the start; the others: of this span */
static struct counts begun, row_begun;
static struct stage stages[STAGES];
static struct traces of_span, of_row;
static uint64_t row; /* number of the row at work, in all spans */
static uint64_t state; /* where the executor counts rows; 0: not known yet */
static bool inside;
static struct block* blocks;

static struct counts since(struct counts then) {
  return (struct counts){now.instructions - then.instructions, now.loaded - then.loaded, now.stored - then.stored,
                         now.flash - then.flash};
}

static void print(struct counts c, const struct traces* traces) {
  uint64_t executed = 0;
  for (unsigned i = 0; i < CODE_WORDS; ++i) executed += 2 * (unsigned)__builtin_popcountll(traces->code[i]);
  fprintf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c.instructions, c.loaded,
          c.stored, c.flash, traces->lowest, executed);
}

static void clear(struct traces* traces) {
  memset(traces, 0, sizeof *traces);
  traces->lowest = marks;
}

static void add(struct traces* sum, const struct traces* traces) {
  if (traces->lowest < sum->lowest) sum->lowest = traces->lowest;
  for (unsigned i = 0; i < CODE_WORDS; ++i) sum->code[i] |= traces->code[i];
}

static void next_row(void) {
  add(&of_span, &of_row);
  clear(&of_row);
  ++row;
}

static void begin(void) {
  memset(stages, 0, sizeof stages);
  for (unsigned s = 0; s < STAGES; ++s) stages[s].traces.lowest = marks;
  next_row();
  clear(&of_span);
  state = 0;
  inside = true;
  begun = row_begun = now;
}

static void end(void) {
  inside = false;
  next_row();
  fprintf(out, "span");
  print(since(begun), &of_span);
  for (unsigned s = 0; s < STAGES; ++s) {
    if (stages[s].rows == 0) continue;
    fprintf(out, "stage %u %" PRIu64, s, stages[s].rows);
    print(stages[s].counts, &stages[s].traces);
  }
}

static void row_made(unsigned stage) {
  const struct counts c = since(row_begun);
  struct counts* sum = &stages[stage].counts;
  sum->instructions += c.instructions;
  sum->loaded += c.loaded;
  sum->stored += c.stored;
  sum->flash += c.flash;
  ++stages[stage].rows;
  add(&stages[stage].traces, &of_row);
  next_row();
  row_begun = now;
}

static void accessed(unsigned cpu, uint32_t access, uint64_t address, void* data) {
  (void)cpu, (void)data;
  const bool store = qemu_plugin_mem_is_store(access);
  const unsigned bytes = 1u << qemu_plugin_mem_size_shift(access);
  if (store && address == marks) {
    begin();
    return;
  }
  if (!inside) return;
  if (store && address == marks + 4) {
    end();
    return;
  }
  if (state == 0) {
    state = address;
    return;
  }
  const bool sram = address >= ram && address < top;
  if (store) {
    now.stored += sram ? bytes : 0;
    if (sram && address < of_row.lowest) of_row.lowest = address;
    if (bytes == 2 && address >= state && address < state + 2 * STAGES) row_made((unsigned)(address - state) / 2);
  } else {
    *(sram ? &now.loaded : &now.flash) += bytes;
  }
}

static void entered(unsigned cpu, void* data) {
  (void)cpu;
  struct block* block = data;
  block->times += inside;
  if (!inside || block->row == row) return;
  block->row = row;
  for (uint64_t at = block->addresses[0] - code; at < block->addresses[0] - code + block->bytes; at += 2) {
    if (at / 128 < CODE_WORDS) of_row.code[at / 128] |= UINT64_C(1) << at / 2 % 64;
  }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  const size_t length = qemu_plugin_tb_n_insns(tb);
  struct block* block = calloc(1, sizeof *block + length * sizeof block->addresses[0]);
  if (block == NULL) abort();
  block->next = blocks;
  block->length = length;
  blocks = block;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, entered, QEMU_PLUGIN_CB_NO_REGS, block);
  for (size_t i = 0; i < length; ++i) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(tb, i);
    block->addresses[i] = qemu_plugin_insn_vaddr(instruction);
    block->bytes += qemu_plugin_insn_size(instruction);
    qemu_plugin_register_vcpu_insn_exec_inline(instruction, QEMU_PLUGIN_INLINE_ADD_U64, &now.instructions, 1);
    qemu_plugin_register_vcpu_mem_cb(instruction, accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
  }
}

static void finish(qemu_plugin_id_t id, void* data) {
  (void)id, (void)data;
  for (const struct block* block = blocks; block != NULL; block = block->next) {
    for (size_t i = 0; block->times != 0 && i < block->length; ++i) {
      fprintf(out, "code %" PRIx64 " %" PRIu64 "\n", block->addresses[i], block->times);
    }
  }
  fclose(out);
}

static bool option(const char* argument, const char* name, const char** value) {
  const size_t length = strlen(name);
  if (strncmp(argument, name, length) != 0 || argument[length] != '=') return false;
  *value = argument + length + 1;
  return true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int argc, char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    const char* value;
    if (option(argv[i], "marks", &value)) marks = strtoull(value, NULL, 0);
    if (option(argv[i], "ram", &value)) ram = strtoull(value, NULL, 0);
    if (option(argv[i], "top", &value)) top = strtoull(value, NULL, 0);
    if (option(argv[i], "code", &value)) code = strtoull(value, NULL, 0);
    if (option(argv[i], "out", &value)) out = fopen(value, "w");
  }
  if (marks == 0 || top <= ram || out == NULL) {
    fprintf(stderr, "meter: marks=, ram=, top=, code= and out= are wanted\n");
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, finish, NULL);
  return 0;
}
