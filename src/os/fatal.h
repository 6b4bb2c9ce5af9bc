/* SPDX-License-Identifier: MIT */
/*
 * fatal: the last line a process says, and writing to standard error without libc.
 *
 * Thread-safe; takes no lock; allocates nothing.  The table of ends is base/fatal.def.
 */
#ifndef HEW_OS_FATAL_H
#define HEW_OS_FATAL_H

#include "base/compiler.h"

enum hew_fatal_kind {
#define FATAL(name, text) HEW_FATAL_##name,
#include "base/fatal.def"
#undef FATAL
};

/* Writes `text` to file descriptor 2, whole. */
void hew_os_write_error(const char *text, size_t length);

/* As abort(), without libc: a preloaded library may have taken that over, and allocate under our locks. */
_Noreturn void hew_os_abort(void);

/* Hears the line, without its newline, before the process ends; NULL: nobody does.  For tests of programs.  It may leave by
 * longjmp, and after a mistake that hew_misuse() reports it may return. */
typedef void (*hew_fatal_hook)(const char *line);
void hew_fatal_set_hook(hew_fatal_hook hook);

/* Says `<hew>: function(0xaddress): text: detail` and aborts.  `detail` may be NULL; address 0 is left out. */
_Noreturn void hew_fatal(enum hew_fatal_kind kind, const char *function, uintptr_t address, const char *detail);

/* The same for a mistake of the program's that the caller can answer by doing nothing: returns if a hook has heard the line
 * and returns. */
void hew_misuse(enum hew_fatal_kind kind, const char *function, uintptr_t address, const char *detail);

/* "<hew>: what: detail": something went wrong that the program can go on without; with abort:true it does not. */
void hew_warn(const char *what, const char *detail);

#endif
