/* SPDX-License-Identifier: MIT */
/*
 * requests: a web service: workers of a pool take requests from one queue, each builds maps of headers, a body and an answer.
 *
 * The acceptor makes the request, a worker frees it; sessions live for a while and are dropped when they expire, by whichever
 * worker comes by. Many more workers than processors, as in services that wait for others.
 */
#include "workload.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{

struct Request {
    uint64_t number;
    std::string line, body;
    std::vector<std::string> headers;
};

struct Session {
    uint64_t expires;
    std::map<std::string, std::string> values;
};

std::mutex queue_mutex;
std::condition_variable changed;
std::deque<std::unique_ptr<Request>> queue;
bool ended;

std::mutex session_mutex;
std::unordered_map<uint64_t, Session> sessions;
std::deque<std::pair<uint64_t, uint64_t>> expiry;

std::unique_ptr<Request>
made(uint64_t number)
{
    uint64_t random = workload_scramble(number);
    auto request = std::make_unique<Request>();
    request->number = number;
    request->line = "GET /api/v1/items/" + std::to_string(random % 100000) + "?page=" + std::to_string(number % 17);
    for (uint64_t i = workload_between(&random, 6, 18); i > 0; i--)
        request->headers.push_back("x-header-" + std::to_string(i) + ": " +
                                   std::string(workload_between(&random, 4, 90), 'h'));
    if (number % 4 == 0)
        request->body.assign(workload_log_size(&random, 8, 15), 'b');
    return request;
}

void
remember(uint64_t number, const std::map<std::string, std::string> &headers)
{
    std::lock_guard<std::mutex> lock(session_mutex);
    while (!expiry.empty() && expiry.front().first < number) {
        sessions.erase(expiry.front().second);
        expiry.pop_front();
    }
    uint64_t key = workload_scramble(number) % 20000;
    Session &session = sessions[key];
    if (session.values.empty())
        expiry.emplace_back(number + 8000, key);
    session.expires = number + 8000;
    session.values["last"] = headers.begin()->second;
    session.values["n" + std::to_string(number % 8)] = std::string(number % 200, 's');
}

uint64_t
answered(const Request &request)
{
    std::map<std::string, std::string> headers;
    for (const std::string &header : request.headers) {
        size_t colon = header.find(':');
        headers[header.substr(0, colon)] = header.substr(colon + 2);
    }
    std::string answer = "{\"items\":[";
    for (uint64_t i = 0; i < 20 + request.number % 30; i++)
        answer += "{\"id\":" + std::to_string(i) + ",\"name\":\"" + std::string(i % 40, 'n') + "\"},";
    answer += "]}" + request.body;
    if (request.number % 5 == 0)
        remember(request.number, headers);
    return answer.size() * 31 + headers.size();
}

void
work(uint64_t *sum)
{
    for (;;) {
        std::unique_lock<std::mutex> lock(queue_mutex);
        changed.wait(lock, [] { return ended || !queue.empty(); });
        if (queue.empty())
            return;
        std::unique_ptr<Request> request = std::move(queue.front());
        queue.pop_front();
        lock.unlock();
        *sum += answered(*request);
    }
}

} // namespace

int
main(int argc, char **argv)
{
    static long requests = 60000, workers = 48;
    const struct workload_option options[] = {
        {"requests", &requests, "requests"},
        {"workers", &workers, "threads of the pool"},
    };
    workload_parse(argc, argv, "A web service with a pool of workers.", options, 2);
    workload_require("workers", workers, 1, 4096);
    double start = workload_seconds();
    std::vector<uint64_t> sums(static_cast<size_t>(workers));
    std::vector<std::thread> pool;
    for (uint64_t &sum : sums)
        pool.emplace_back(work, &sum);
    for (long i = 0; i < requests; i++) {
        auto request = made(static_cast<uint64_t>(i));
        std::lock_guard<std::mutex> lock(queue_mutex);
        queue.push_back(std::move(request));
        changed.notify_one();
    }
    {
        std::lock_guard<std::mutex> lock(queue_mutex);
        ended = true;
        changed.notify_all();
    }
    for (std::thread &worker : pool)
        worker.join();
    uint64_t checksum = 0;
    for (uint64_t sum : sums)
        checksum += sum;
    workload_report("requests", static_cast<uint64_t>(requests), workload_seconds() - start, checksum);
    return 0;
}
