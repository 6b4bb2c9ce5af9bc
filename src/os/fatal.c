/* SPDX-License-Identifier: MIT */
#include "os/fatal.h"

#include "base/options.h"
#include "base/text.h"
#include "os/syscall.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* Arrays instead of pointers, which the loader would relocate in each process. */
static const char texts[][56] = {
#define FATAL(name, text) text,
#include "base/fatal.def"
#undef FATAL
};

static _Atomic(hew_fatal_hook) fatal_hook; /* relaxed */

void
hew_fatal_set_hook(hew_fatal_hook hook)
{
    atomic_store_explicit(&fatal_hook, hook, memory_order_relaxed);
}

void
hew_os_write_error(const char *text, size_t length)
{
    while (length > 0) {
        long written = hew_syscall3(SYS_write, 2, text, length);
        if (written <= 0 && written != -EINTR) {
            return;
        }
        text += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
}

/* The struct that rt_sigaction() reads: the default handler, no flags, no blocked signals. */
struct action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t blocked;
};

HEW_COLD _Noreturn void
hew_os_abort(void)
{
    static const struct action usual;
    const uint64_t signals = UINT64_C(1) << (SIGABRT - 1);
    long process = hew_syscall1(SYS_getpid, 0), thread = hew_syscall1(SYS_gettid, 0);
    hew_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, &signals, NULL, sizeof signals);
    hew_syscall3(SYS_tgkill, process, thread, SIGABRT);
    /* The program ignores SIGABRT, or its handler has returned. */
    hew_syscall4(SYS_rt_sigaction, SIGABRT, &usual, NULL, sizeof usual.blocked);
    hew_syscall3(SYS_tgkill, process, thread, SIGABRT);
    __builtin_trap();
}

HEW_COLD void
hew_warn(const char *what, const char *detail)
{
    char line[1536]; /* may include a path */
    struct hew_text text;
    hew_text_begin(&text, line, sizeof line - 1);
    hew_text_put(&text, "<hew>: ");
    hew_text_put(&text, what);
    hew_text_put(&text, ": ");
    hew_text_put(&text, detail);
    line[text.length] = '\n';
    hew_os_write_error(line, text.length + 1);
    if (hew_options.abort) {
        hew_os_abort();
    }
}

/* The line, with space for a newline after it. */
struct last_words {
    char line[512];
    size_t length;
};

HEW_COLD static void
put_last_words(struct last_words *words, enum hew_fatal_kind kind, const char *function, uintptr_t address,
               const char *detail)
{
    struct hew_text text;
    hew_text_begin(&text, words->line, sizeof words->line - 1);
    hew_text_put(&text, "<hew>: ");
    hew_text_put(&text, function);
    hew_text_put(&text, "(");
    if (address != 0) {
        hew_text_put_hex(&text, address);
    }
    hew_text_put(&text, "): ");
    hew_text_put(&text, texts[kind]);
    if (detail != NULL) {
        hew_text_put(&text, ": ");
        hew_text_put(&text, detail);
    }
    words->length = text.length;
}

/* Returns true if a hook exists and has returned. */
static bool
hook_has_heard(const struct last_words *words)
{
    hew_fatal_hook hook = atomic_load_explicit(&fatal_hook, memory_order_relaxed);
    if (hook != NULL) {
        hook(words->line);
    }
    return hook != NULL;
}

static _Noreturn void
say_and_abort(struct last_words *words, const char *evidence)
{
    words->line[words->length] = '\n';
    hew_os_write_error(words->line, words->length + 1);
    hew_os_write_error(evidence, strlen(evidence));
    hew_os_abort();
}

HEW_COLD void
hew_misuse_with(enum hew_fatal_kind kind, const char *function, uintptr_t address, const char *detail,
                const char *evidence)
{
    struct last_words words;
    put_last_words(&words, kind, function, address, detail);
    if (!hook_has_heard(&words)) {
        say_and_abort(&words, evidence);
    }
}

HEW_COLD void
hew_misuse(enum hew_fatal_kind kind, const char *function, uintptr_t address, const char *detail)
{
    hew_misuse_with(kind, function, address, detail, "");
}

HEW_COLD _Noreturn void
hew_fatal(enum hew_fatal_kind kind, const char *function, uintptr_t address, const char *detail)
{
    struct last_words words;
    put_last_words(&words, kind, function, address, detail);
    hook_has_heard(&words);
    say_and_abort(&words, "");
}

HEW_COLD _Noreturn void
hew_check_failed(const char *function, const char *what)
{
    hew_fatal(HEW_FATAL_check_failed, function, 0, what);
}
