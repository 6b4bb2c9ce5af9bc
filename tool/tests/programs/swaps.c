/* Threads that allocate, resize and free at random and hand objects to each other, with stored pointers to malloc
 * and free among their callers, while short-lived threads come and go. Says whether an object ever changed. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static _Atomic long wrong, rounds;
static _Atomic(unsigned char *) box[64];
static _Atomic int over;
static void *(*volatile stored_malloc)(size_t) = malloc;
static void (*volatile stored_free)(void *) = free;
static unsigned char *fill(unsigned char *p, size_t n) {
    if (p == NULL || malloc_usable_size(p) < n) { wrong++; abort(); }
    memset(p, (int)(n * 7 + 1), n); memcpy(p, &n, sizeof n); return p;
}
static int holds(unsigned char *p, size_t most) {
    size_t n; memcpy(&n, p, sizeof n); 
    for (size_t i = sizeof n; i < n && i < most; i += 61) if (p[i] != (unsigned char)(n * 7 + 1)) return 0;
    return 1;
}
static void *work(void *a) {
    uint64_t s = (uintptr_t)a * 77 + 1; unsigned char *own[200] = {0};
    while (!over) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        unsigned k = (s >> 33) % 200; size_t n = 16 + (s >> 41) % ((s >> 62) ? 900 : 200000);
        unsigned char *p = own[k];
        if (p && !holds(p, (size_t)-1)) wrong++;
        switch (s >> 20 & 7) {
        case 0: own[k] = p ? realloc(p, n) : malloc(n); if (!holds(own[k], n) && p) wrong++; fill(own[k], n); break;
        case 1: free(p); own[k] = fill(stored_malloc(n), n); break;
        case 2: stored_free(p); own[k] = fill(malloc(n), n); break;
        case 3: { void *q; free(p); if (posix_memalign(&q, 256, n)) wrong++; if ((uintptr_t)q & 255) wrong++; own[k] = fill(q, n); break; }
        case 4: free(p); own[k] = fill(calloc(1, n), n); break;
        default: if (p) { p = atomic_exchange(&box[s >> 50 & 63], p); if (p && !holds(p, (size_t)-1)) wrong++; } own[k] = p;
        }
        if (!(++rounds & 1023)) { char *t = strdup("text"); free(t); usleep(100); }
    }
    for (int i = 0; i < 200; i++) free(own[i]);
    return 0;
}
static void *shortlived(void *a) { free(malloc(100)); return strdup("x"); }
int main(int c, char **v) {
    int n = c > 1 ? atoi(v[1]) : 4; pthread_t t[300];
    for (long i = 0; i < n; i++) pthread_create(&t[i], 0, work, (void *)(i + 1));
    puts("ready"); fflush(stdout);
    char line[99];
    fd_set f; struct timeval tv;
    for (;;) { FD_ZERO(&f); FD_SET(0, &f); tv = (struct timeval){0, 5000}; if (select(1, &f, 0, 0, &tv) > 0) break;
        pthread_t q; void *r; pthread_create(&q, 0, shortlived, 0); pthread_join(q, &r); free(r); }
    if (!fgets(line, 99, stdin)) {}
    over = 1;
    for (int i = 0; i < n; i++) pthread_join(t[i], 0);
    printf("wrong %ld rounds %ld\n", wrong, rounds); return wrong != 0;
}
