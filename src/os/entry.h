/* SPDX-License-Identifier: MIT */
/*
 * entry: directory entries and the identity of the process, by system calls.  Allocates nothing, keeps errno, does not
 * follow links.
 */
#ifndef HEW_OS_ENTRY_H
#define HEW_OS_ENTRY_H

#include "base/compiler.h"

struct hew_entry {
    uint64_t device, number;
    unsigned user;
    bool is_socket;
};

/* False if the entry does not exist. */
bool hew_entry_look(const char *path, struct hew_entry *entry);
bool hew_entry_same(const struct hew_entry *one, const struct hew_entry *other);
void hew_entry_remove(const char *path);

/* Creates the directory if needed.  Returns false unless this user owns it and no other user may enter it. */
bool hew_entry_own_directory(const char *path);

/* Return the effective user, the process, and the calling thread. */
unsigned hew_entry_user(void);
uint64_t hew_entry_process(void);
unsigned hew_entry_thread(void);

#endif
