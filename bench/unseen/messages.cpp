/* SPDX-License-Identifier: MIT */
/*
 * messages: an RPC server's pipeline: one thread decodes nested messages, others handle them, the last encodes the answers.
 *
 * Like protobuf objects without arenas: a message has optional sub-messages, repeated fields and strings; it is made in one
 * thread, changed in a second, and freed in a third. Queues are bounded.
 */
#include "workload.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct Message {
    uint64_t id = 0;
    std::string name;
    std::vector<int64_t> numbers;
    std::vector<std::string> tags;
    std::unique_ptr<Message> parent;
    std::vector<std::unique_ptr<Message>> children;
};

class Queue
{
  public:
    void
    put(std::unique_ptr<Message> message)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return waiting_.size() < 256; });
        waiting_.push_back(std::move(message));
        changed_.notify_all();
    }

    std::unique_ptr<Message>
    take()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !waiting_.empty(); });
        std::unique_ptr<Message> message = std::move(waiting_.front());
        waiting_.pop_front();
        changed_.notify_all();
        return message;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Message>> waiting_;
};

std::unique_ptr<Message>
decoded(uint64_t &random, int depth)
{
    auto message = std::make_unique<Message>();
    message->id = workload_random(&random);
    message->name.assign(workload_between(&random, 1, 64), 'n');
    for (uint64_t i = workload_random(&random) % 20; i > 0; i--)
        message->numbers.push_back(static_cast<int64_t>(i));
    for (uint64_t i = workload_random(&random) % 6; i > 0; i--)
        message->tags.push_back("tag " + std::string(workload_random(&random) % 40, 't'));
    if (depth > 0) {
        for (uint64_t i = workload_random(&random) % 4; i > 0; i--)
            message->children.push_back(decoded(random, depth - 1));
        if (workload_random(&random) % 2 == 0)
            message->parent = decoded(random, 0);
    }
    return message;
}

void
handle(Message &message)
{
    message.tags.push_back("handled " + std::to_string(message.id));
    message.parent = nullptr;
    for (auto &child : message.children)
        handle(*child);
}

void
encode(const Message &message, std::string &out)
{
    out += message.name;
    out += std::to_string(message.numbers.size());
    for (const std::string &tag : message.tags)
        out += tag;
    for (const auto &child : message.children)
        encode(*child, out);
}

} // namespace

int
main(int argc, char **argv)
{
    static long count = 25000;
    const struct workload_option options[] = {{"messages", &count, "messages"}};
    workload_parse(argc, argv, "Messages that are decoded, handled and encoded by three threads.", options, 1);
    double start = workload_seconds();
    uint64_t checksum = 0;
    Queue to_handle, to_encode;
    std::thread handler([&] {
        for (long i = 0; i < count; i++) {
            auto message = to_handle.take();
            handle(*message);
            to_encode.put(std::move(message));
        }
    });
    std::thread encoder([&] {
        for (long i = 0; i < count; i++) {
            auto message = to_encode.take();
            std::string out;
            encode(*message, out);
            checksum = workload_mix(checksum, out.size());
        }
    });
    uint64_t random = 1;
    for (long i = 0; i < count; i++)
        to_handle.put(decoded(random, 4));
    handler.join();
    encoder.join();
    workload_report("messages", static_cast<uint64_t>(count), workload_seconds() - start, checksum);
    return 0;
}
