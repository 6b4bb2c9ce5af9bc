/* SPDX-License-Identifier: MIT */
/*
 * fatal: reports fatal errors, and writes to standard error without libc.
 *
 * Thread-safe, takes no lock, allocates nothing.  base/fatal.def lists the errors.
 */
#ifndef HEW_OS_FATAL_H
#define HEW_OS_FATAL_H

#include "base/compiler.h"

enum hew_fatal_kind {
#define FATAL(name, text) HEW_FATAL_##name,
#include "base/fatal.def"
#undef FATAL
};

/* Writes the whole `text` to file descriptor 2. */
void hew_os_write_error(const char *text, size_t length);

/* Like abort(), without libc: a preloaded library may replace abort() and allocate under our locks. */
_Noreturn void hew_os_abort(void);

/* A hook that receives the line, without its newline, before the process ends; NULL: no hook.  For tests of programs.
 * The hook may leave by longjmp.  After misuse that hew_misuse() reports, it may also return. */
typedef void (*hew_fatal_hook)(const char *line);
void hew_fatal_set_hook(hew_fatal_hook hook);

/* Writes `<hew>: function(0xaddress): text: detail` and aborts.  `detail` may be NULL.  An address of 0 is omitted. */
_Noreturn void hew_fatal(enum hew_fatal_kind kind, const char *function, uintptr_t address, const char *detail);

/* Like hew_fatal(), for misuse by the program after which the caller can safely do nothing.  Returns if a hook received
 * the line and returned. */
void hew_misuse(enum hew_fatal_kind kind, const char *function, uintptr_t address, const char *detail);

/* The same.  `evidence`, some lines or none, follows the line, unless a hook receives it. */
void hew_misuse_with(enum hew_fatal_kind kind, const char *function, uintptr_t address, const char *detail,
                     const char *evidence);

/* Writes "<hew>: what: detail": an error after which the program can continue.  With abort:true it ends the process. */
void hew_warn(const char *what, const char *detail);

#endif
