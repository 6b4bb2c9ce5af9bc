// SPDX-License-Identifier: MIT
// cxx_server PORT THREADS: answers GET /N with "N." N * 10 times, on keep-alive connections. Each thread serves one
// connection at a time, and makes its answers of strings, lists and maps, some of which other threads have made.
#include <arpa/inet.h>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <netinet/tcp.h>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{

constexpr std::size_t kept_answers = 100;

// The latest answers, made by any thread and freed by another.
class cache
{
  public:
    std::shared_ptr<const std::string>
    find(int number)
    {
        const std::lock_guard<std::mutex> lock(mutex);
        const auto found = answers.find(number);
        return found == answers.end() ? nullptr : found->second;
    }

    void
    add(int number, std::shared_ptr<const std::string> answer)
    {
        const std::lock_guard<std::mutex> lock(mutex);
        order.push_back(number);
        answers[number] = std::move(answer);
        while (order.size() > kept_answers) {
            answers.erase(order.front());
            order.pop_front();
        }
    }

  private:
    std::mutex mutex;
    std::map<int, std::shared_ptr<const std::string>> answers;
    std::list<int> order;
};

cache latest;

std::shared_ptr<const std::string>
make_answer(int number)
{
    const std::vector<std::string> parts(static_cast<std::size_t>(number) * 10, std::to_string(number) + ".");
    std::ostringstream body;
    for (const std::string &part : parts) {
        body << part;
    }
    std::ostringstream answer;
    answer << "HTTP/1.1 200 OK\r\nContent-Length: " << body.str().size() << "\r\n\r\n" << body.str();
    return std::make_shared<const std::string>(answer.str());
}

bool
send_all(int connection, const std::string &text)
{
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t sent = send(connection, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return false;
        }
        at += sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    return true;
}

void
serve(int connection)
{
    std::string got;
    char buffer[4096];
    for (;;) {
        const std::size_t end = got.find("\r\n\r\n");
        if (end == std::string::npos) {
            const ssize_t length = recv(connection, buffer, sizeof buffer, 0);
            if (length == 0 || (length < 0 && errno != EINTR)) {
                return;
            }
            got.append(buffer, length < 0 ? 0 : static_cast<std::size_t>(length));
            continue;
        }
        const int number = std::atoi(got.c_str() + sizeof "GET /" - 1);
        got.erase(0, end + 4);
        std::shared_ptr<const std::string> answer = latest.find(number);
        if (answer == nullptr) {
            answer = make_answer(number);
            latest.add(number, answer);
        }
        if (!send_all(connection, *answer)) {
            return;
        }
    }
}

void
accept_all(int listener)
{
    for (;;) {
        const int connection = accept(listener, nullptr, nullptr);
        if (connection >= 0) {
            const int on = 1;
            setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            serve(connection);
            close(connection);
        }
    }
}

} // namespace

int
main(int count, char **words)
{
    if (count != 3) {
        return 2;
    }
    const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::atoi(words[1])));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0 || listen(listener, 512) != 0) {
        return 1;
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < std::atoi(words[2]); i++) {
        threads.emplace_back(accept_all, listener);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}
