/* SPDX-License-Identifier: MIT */
/*
 * channel: a bounded queue of pointers between threads, for the workloads that hand objects over.
 *
 * Promises  what one thread puts, exactly one thread gets, in order; get returns NULL once the channel is closed and
 *           empty.  The ring is part of the struct: putting and getting never allocate.
 */
#ifndef HEW_BENCH_CHANNEL_H
#define HEW_BENCH_CHANNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { CHANNEL_CAPACITY = 256 };

struct channel {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    size_t head;
    size_t count;
    bool closed;
    void *ring[CHANNEL_CAPACITY];
};

static inline void
channel_open(struct channel *channel)
{
    pthread_mutex_init(&channel->mutex, NULL);
    pthread_cond_init(&channel->not_empty, NULL);
    pthread_cond_init(&channel->not_full, NULL);
    channel->head = channel->count = 0;
    channel->closed = false;
}

static inline void
channel_put(struct channel *channel, void *object)
{
    pthread_mutex_lock(&channel->mutex);
    while (channel->count == CHANNEL_CAPACITY)
        pthread_cond_wait(&channel->not_full, &channel->mutex);
    channel->ring[(channel->head + channel->count++) % CHANNEL_CAPACITY] = object;
    pthread_cond_signal(&channel->not_empty);
    pthread_mutex_unlock(&channel->mutex);
}

static inline void *
channel_get(struct channel *channel)
{
    void *object = NULL;
    pthread_mutex_lock(&channel->mutex);
    while (channel->count == 0 && !channel->closed)
        pthread_cond_wait(&channel->not_empty, &channel->mutex);
    if (channel->count > 0) {
        object = channel->ring[channel->head];
        channel->head = (channel->head + 1) % CHANNEL_CAPACITY;
        channel->count--;
        pthread_cond_signal(&channel->not_full);
    }
    pthread_mutex_unlock(&channel->mutex);
    return object;
}

static inline void
channel_close(struct channel *channel)
{
    pthread_mutex_lock(&channel->mutex);
    channel->closed = true;
    pthread_cond_broadcast(&channel->not_empty);
    pthread_mutex_unlock(&channel->mutex);
}

#endif
