/* steady THREADS: threads that look at every byte before they free it, get queued signals, are born and die, and wait in
 * system calls. Says "ready"; ends with a line from standard input, and says what it noticed: nothing, if all is well. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 64, NAP_MS = 40 };

static atomic_bool over, done; /* churners go on until the last signal has come */
static atomic_long rounds, sent, handled, wrong, interrupted, short_naps, ended;
static int quiet_pipe[2], tick_pipe[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t gate;

static void
count(int number, siginfo_t *information, void *context)
{
    (void)number, (void)context;
    handled += information->si_value.sival_int;
}

static void *
churn(void *seed)
{
    unsigned state = (unsigned)(size_t)seed + 1;
    unsigned char *held[PLACES] = {0};
    size_t sizes[PLACES] = {0};
    while (!done) {
        state = state * 1103515245 + 12345;
        unsigned place = (state >> 8) % PLACES;
        for (size_t i = 0; i < sizes[place]; i++) {
            wrong += held[place][i] != place;
        }
        free(held[place]);
        sizes[place] = 1 + (state >> 16) % ((state >> 5) % 50 ? 2000 : 100000);
        held[place] = malloc(sizes[place]);
        memset(held[place], (int)place, sizes[place]);
        rounds++;
    }
    return NULL;
}

static void *
short_lived(void *unused)
{
    free(malloc(300));
    ended++;
    return unused;
}

static void *
bear(void *unused)
{
    while (!over) {
        pthread_t child;
        if (pthread_create(&child, NULL, short_lived, NULL) == 0) {
            pthread_join(child, NULL);
        }
    }
    return unused;
}

/* Real-time signals queue: none may be lost, and none doubled. */
static void *
signal_others(void *targets)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; !over; i = !i) {
        if (pthread_sigqueue(((pthread_t *)targets)[i], SIGRTMIN, (union sigval){.sival_int = 1}) == 0) {
            sent++;
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static double
now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void
waited(double began, int result)
{
    interrupted += result < 0 && errno == EINTR;
    short_naps += now() - began < NAP_MS / 1e3 - 0.002;
}

static void *
nap(void *unused)
{
    struct timespec pause = {.tv_nsec = NAP_MS * 1000000};
    struct pollfd one = {.fd = quiet_pipe[0], .events = POLLIN};
    while (!over) {
        double began = now();
        waited(began, nanosleep(&pause, NULL));
        began = now();
        waited(began, poll(&one, 1, NAP_MS));
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += NAP_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000, until.tv_nsec %= 1000000000;
        began = now();
        int result = sem_timedwait(&gate, &until);
        interrupted += result < 0 && errno != ETIMEDOUT;
        short_naps += now() - began < NAP_MS / 1e3 - 0.002;
    }
    return unused;
}

static void *
read_ticks(void *unused)
{
    char byte, wanted = 0;
    ssize_t result;
    while ((result = read(tick_pipe[0], &byte, 1)) != 0) {
        interrupted += result < 0;
        wrong += result == 1 && byte != wanted++;
    }
    return unused;
}

/* epoll_wait gives EINTR after any stop: a program has to bear that. */
static void *
wait_for_events(void *unused)
{
    struct epoll_event event = {.events = EPOLLIN};
    int poller = epoll_create1(0);
    epoll_ctl(poller, EPOLL_CTL_ADD, quiet_pipe[0], &event);
    while (!over) {
        int result = epoll_wait(poller, &event, 1, 1000);
        wrong += result > 0 || (result < 0 && errno != EINTR);
    }
    close(poller);
    return unused;
}

static void *
wait_for_ever(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!over) {
        pthread_cond_wait(&never, &lock);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

int
main(int words, char **word)
{
    int threads = words > 1 ? atoi(word[1]) : 8;
    pthread_t churners[64], others[6], reader, signalled[2];
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGRTMIN, &action, NULL);
    sem_init(&gate, 0, 0);
    if (threads < 1 || threads > 64 || pipe(quiet_pipe) != 0 || pipe(tick_pipe) != 0) {
        return 2;
    }
    for (int i = 0; i < threads; i++) {
        pthread_create(&churners[i], NULL, churn, (void *)(size_t)i);
    }
    pthread_create(&others[0], NULL, bear, NULL);
    signalled[0] = churners[0],
    signalled[1] = pthread_self(); /* it sleeps, and so it is the one that carries the call */
    pthread_create(&others[1], NULL, signal_others, signalled);
    pthread_create(&others[2], NULL, nap, NULL);
    pthread_create(&others[3], NULL, wait_for_events, NULL);
    pthread_create(&others[4], NULL, wait_for_ever, NULL);
    pthread_create(&reader, NULL, read_ticks, NULL);
    puts("ready");
    fflush(stdout);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    for (char tick = 0; poll(&input, 1, 5) <= 0; tick++) {
        wrong += write(tick_pipe[1], &tick, 1) != 1;
    }
    over = true;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&never);
    pthread_mutex_unlock(&lock);
    close(tick_pipe[1]);
    for (int i = 1; i < 5; i++) {
        pthread_join(others[i], NULL);
    }
    pthread_join(others[0], NULL);
    for (int i = 0; i < 1000 && handled != sent; i++) {
        usleep(10000);
    }
    done = true;
    for (int i = 0; i < threads; i++) {
        pthread_join(churners[i], NULL);
    }
    pthread_join(reader, NULL);
    printf("wrong %ld, signals lost %ld, interrupted %ld, short naps %ld; rounds %ld, signals %ld, threads ended %ld\n",
           wrong, sent - handled, interrupted, short_naps, rounds, sent, ended);
    return 0;
}
