/* SPDX-License-Identifier: MIT */
/*
 * lru_cache: a cache server's heart: a hash table of strings, a list in order of use, values of 64 bytes to 8 KiB.
 *
 * Keys are asked for by a Zipf-like law; what is missing is made, and the least recently used entries go until the bytes fit
 * again. Every 10th hit writes a value of another size. One thread, as Redis or memcached with one worker.
 */
#include "workload.h"

#include <list>
#include <string>
#include <unordered_map>

namespace
{

struct Entry {
    std::string key, value;
};

class Cache
{
  public:
    explicit Cache(size_t limit) : limit_(limit)
    {
    }

    uint64_t
    ask(const std::string &key, uint64_t &random)
    {
        auto found = index_.find(key);
        if (found == index_.end())
            return store(key, random);
        order_.splice(order_.begin(), order_, found->second);
        std::string &value = found->second->value;
        if (workload_random(&random) % 10 == 0) {
            bytes_ -= value.size();
            value = made(random);
            bytes_ += value.size();
            shrink();
        }
        return static_cast<unsigned char>(value[value.size() / 2]);
    }

  private:
    static std::string
    made(uint64_t &random)
    {
        size_t size = workload_log_size(&random, 6, 13);
        return std::string(size, static_cast<char>('a' + size % 26));
    }

    uint64_t
    store(const std::string &key, uint64_t &random)
    {
        order_.push_front({key, made(random)});
        index_.emplace(key, order_.begin());
        bytes_ += order_.front().value.size();
        shrink();
        return 1;
    }

    void
    shrink()
    {
        while (bytes_ > limit_) {
            bytes_ -= order_.back().value.size();
            index_.erase(order_.back().key);
            order_.pop_back();
        }
    }

    size_t limit_, bytes_ = 0;
    std::list<Entry> order_;
    std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

/* About as many requests for the keys from 2^n to 2^(n+1) as for those from 2^(n+1) to 2^(n+2). */
std::string
asked_key(uint64_t &random, long keys)
{
    uint64_t reach = uint64_t{1} << workload_between(&random, 3, 40);
    uint64_t number = workload_random(&random) % (reach < static_cast<uint64_t>(keys) ? reach : keys);
    return "object:" + std::to_string(workload_scramble(number)) + ":v2";
}

} // namespace

int
main(int argc, char **argv)
{
    static long requests = 400000, keys = 400000, mib = 64;
    const struct workload_option options[] = {
        {"requests", &requests, "requests"},
        {"keys", &keys, "keys that are asked for"},
        {"mib", &mib, "MiB of values that are kept"},
    };
    workload_parse(argc, argv, "A cache server that keeps what was used last.", options, 3);
    workload_require("keys", keys, 16, 1l << 30);
    double start = workload_seconds();
    uint64_t random = 1, checksum = 0;
    {
        Cache cache(static_cast<size_t>(mib) << 20);
        for (long i = 0; i < requests; i++)
            checksum = workload_mix(checksum, cache.ask(asked_key(random, keys), random));
    }
    workload_report("lru_cache", static_cast<uint64_t>(requests), workload_seconds() - start, checksum);
    return 0;
}
