/* SPDX-License-Identifier: MIT */
/*
 * actors: a thousand actors on a few threads, each with a mailbox; a message is answered by one or two to others.
 *
 * Messages of 32 bytes to 2 KiB are made by whichever thread runs the sender and freed by whichever runs the receiver. An actor
 * keeps its last eight messages and dies after a number of messages; a new one takes its place.
 */
#include "workload.h"

#include <pthread.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct Message {
    uint64_t number;
    uint32_t hops;
    std::string text;
};

class Actor
{
  public:
    /* What came for this actor, whole. */
    std::deque<std::unique_ptr<Message>>
    taken()
    {
        std::lock_guard<std::mutex> lock(mutex_);
        return std::move(box_);
    }

    void
    send(std::unique_ptr<Message> message)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        box_.push_back(std::move(message));
    }

    void
    keep(std::unique_ptr<Message> message)
    {
        kept_.push_back(std::move(message));
        if (kept_.size() > 8)
            kept_.pop_front();
        if (++seen_ % 500 == 0)
            kept_.clear();
    }

  private:
    std::mutex mutex_;
    std::deque<std::unique_ptr<Message>> box_, kept_;
    uint64_t seen_ = 0;
};

std::unique_ptr<Message>
made(uint64_t number, uint32_t hops)
{
    uint64_t random = workload_scramble(number ^ hops);
    return std::make_unique<Message>(Message{number, hops, std::string(workload_log_size(&random, 5, 11), 'm')});
}

pthread_barrier_t round_end;

/* One thread runs every n-th actor, round by round, until `rounds` are over. */
void
run(std::vector<Actor> &actors, size_t first, size_t step, long rounds, uint64_t *sum)
{
    for (long round = 0; round < rounds; round++) {
        for (size_t at = first; at < actors.size(); at += step) {
            for (auto &message : actors[at].taken()) {
                uint64_t next = workload_scramble(message->number + message->hops);
                *sum += message->text.size();
                if (message->hops > 0)
                    actors[next % actors.size()].send(made(message->number, message->hops - 1));
                actors[at].keep(std::move(message));
            }
        }
        for (size_t at = first; at < actors.size(); at += step * 8)
            actors[workload_scramble(at + static_cast<size_t>(round)) % actors.size()].send(made(at, 12));
        pthread_barrier_wait(&round_end);
    }
}

} // namespace

int
main(int argc, char **argv)
{
    static long count = 1000, rounds = 1500, threads = 4;
    const struct workload_option options[] = {
        {"actors", &count, "actors"},
        {"rounds", &rounds, "rounds of each thread over its actors"},
        {"threads", &threads, "threads"},
    };
    workload_parse(argc, argv, "Actors that send each other messages.", options, 3);
    workload_require("actors", count, 1, 1l << 20);
    workload_require("threads", threads, 1, 256);
    double start = workload_seconds();
    uint64_t operations = 0;
    {
        std::vector<Actor> actors(static_cast<size_t>(count));
        std::vector<uint64_t> sums(static_cast<size_t>(threads));
        std::vector<std::thread> pool;
        pthread_barrier_init(&round_end, nullptr, static_cast<unsigned>(threads));
        for (size_t i = 0; i < sums.size(); i++)
            pool.emplace_back(run, std::ref(actors), i, sums.size(), rounds, &sums[i]);
        for (std::thread &thread : pool)
            thread.join();
        operations = static_cast<uint64_t>(rounds * count / 8);
    }
    workload_report("actors", operations, workload_seconds() - start, operations); /* the order is the scheduler's */
    return 0;
}
