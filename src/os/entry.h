/* SPDX-License-Identifier: MIT */
/*
 * entry: entries of directories, and who we are, by system calls.  Allocates nothing, keeps errno; links are not followed.
 */
#ifndef HEW_OS_ENTRY_H
#define HEW_OS_ENTRY_H

#include "base/compiler.h"

struct hew_entry {
    uint64_t device, number;
    unsigned user;
    bool is_socket;
};

/* False when there is none. */
bool hew_entry_look(const char *path, struct hew_entry *entry);
bool hew_entry_same(const struct hew_entry *one, const struct hew_entry *other);
void hew_entry_remove(const char *path);

/* Makes the directory if need be; false unless it is ours and nobody else may enter. */
bool hew_entry_own_directory(const char *path);

/* The effective user, the process, and the calling thread. */
unsigned hew_entry_user(void);
uint64_t hew_entry_process(void);
unsigned hew_entry_thread(void);

#endif
