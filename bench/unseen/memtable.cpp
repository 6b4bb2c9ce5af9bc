/* SPDX-License-Identifier: MIT */
/*
 * memtable: a log-structured store: one thread inserts into a skip list, another one writes full lists out and frees them.
 *
 * As in LSM engines whose memtable allocates a node for each entry: nodes of many sizes live as long as their table does, and
 * are freed together, by a thread that did not make them. Two tables wait at most.
 */
#include "workload.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr unsigned HEIGHT = 12;

struct Node {
    uint64_t key;
    std::string value;
    std::vector<Node *> next;
    Node(uint64_t k, std::string v, unsigned height) : key(k), value(std::move(v)), next(height)
    {
    }
};

class Table
{
  public:
    Table() : head_(0, "", HEIGHT)
    {
    }

    void
    insert(uint64_t key, std::string value, uint64_t draw)
    {
        Node *before[HEIGHT], *at = &head_;
        for (unsigned level = HEIGHT; level-- > 0;) {
            while (at->next[level] != nullptr && at->next[level]->key < key)
                at = at->next[level];
            before[level] = at;
        }
        unsigned height = 1;
        for (; height < HEIGHT && (draw & 3) == 0; draw >>= 2)
            height++;
        Node *node = new Node(key, std::move(value), height);
        for (unsigned level = 0; level < height; level++) {
            node->next[level] = before[level]->next[level];
            before[level]->next[level] = node;
        }
    }

    /* In key order into blocks of 4 KiB, as a file would get them; every node is freed. */
    uint64_t
    write_out()
    {
        uint64_t sum = 0;
        std::string block;
        for (Node *node = head_.next[0], *next; node != nullptr; node = next) {
            next = node->next[0];
            block += node->value;
            if (block.size() >= 4096) {
                sum = workload_mix(sum, block.size() ^ static_cast<unsigned char>(block.back()));
                block = std::string();
            }
            delete node;
        }
        return sum;
    }

  private:
    Node head_;
};

std::mutex mutex;
std::condition_variable changed;
std::deque<Table *> full;
bool done;
uint64_t written;

void
write_tables()
{
    for (;;) {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [] { return done || !full.empty(); });
        if (full.empty())
            return;
        Table *table = full.front();
        lock.unlock();
        uint64_t sum = table->write_out();
        delete table;
        lock.lock();
        full.pop_front();
        written = workload_mix(written, sum);
        changed.notify_all();
    }
}

void
hand_over(Table *table)
{
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [] { return full.size() < 2; });
    full.push_back(table);
    changed.notify_all();
}

} // namespace

int
main(int argc, char **argv)
{
    static long tables = 12, entries = 40000;
    const struct workload_option options[] = {
        {"tables", &tables, "tables that are filled"},
        {"entries", &entries, "entries of a table"},
    };
    workload_parse(argc, argv, "A log-structured store's tables in memory.", options, 2);
    double start = workload_seconds();
    uint64_t random = 1;
    std::thread writer(write_tables);
    for (long number = 0; number < tables; number++) {
        auto *table = new Table;
        for (long i = 0; i < entries; i++) {
            size_t size = workload_log_size(&random, 4, 10);
            table->insert(workload_random(&random), std::string(size, 'v'), workload_random(&random));
        }
        hand_over(table);
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        done = true;
        changed.notify_all();
    }
    writer.join();
    workload_report("memtable", static_cast<uint64_t>(tables * entries), workload_seconds() - start, written);
    return 0;
}
