// SPDX-License-Identifier: MIT
#include "test.h"

#include "hew/pool_resource.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

// An upstream that counts what it has given and not got back.
struct counting_resource : std::pmr::memory_resource {
    int held = 0;

    void *
    do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        held++;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }

    void
    do_deallocate(void *object, std::size_t bytes, std::size_t alignment) override
    {
        held--;
        std::pmr::new_delete_resource()->deallocate(object, bytes, alignment);
    }

    bool
    do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        return this == &other;
    }
};

static std::size_t
in_use(hew_pool_set *set, std::size_t size)
{
    hew_pool_figures figures[8];
    std::size_t count = hew_pool_read_figures(set, nullptr, figures, 8);
    for (std::size_t i = 0; i < count && i < 8; i++) {
        if (figures[i].size == size) {
            return figures[i].in_use;
        }
    }
    return 0;
}

TEST(containers_live_in_the_pools)
{
    hew::pool_resource resource({{48, 1000}, {64, 1000}, {256, 100}});
    {
        std::pmr::map<int, std::pmr::string> map(&resource);
        for (int i = 0; i < 500; i++) {
            map.emplace(i, std::pmr::string(static_cast<std::size_t>(i % 200), 'x', &resource));
        }
        CHECK(hew_pool_of(&*map.begin()) == resource.set());
        for (int i = 0; i < 500; i++) {
            CHECK_EQUAL(map.at(i).size(), i % 200);
        }
    }
    CHECK_EQUAL(in_use(resource.set(), 48) + in_use(resource.set(), 64) + in_use(resource.set(), 256), 0);
}

TEST(a_size_beyond_the_largest_is_the_fallbacks)
{
    hew::pool_resource resource({{64, 10}});
    std::pmr::vector<char> large(100000, 'a', &resource);
    CHECK(hew_pool_of(large.data()) == nullptr);
    CHECK_EQUAL(large[99999], 'a');
}

TEST(every_alignment_is_met_by_a_pool_that_has_it_or_upstream)
{
    counting_resource upstream;
    hew::pool_resource resource({{64, 100}, {96, 100}, {4096, 10}}, nullptr, &upstream);
    for (std::size_t alignment = 1; alignment <= 1 << 16; alignment *= 2) {
        for (std::size_t size : {std::size_t(0), std::size_t(1), std::size_t(60), std::size_t(96), std::size_t(5000)}) {
            void *object = resource.allocate(size, alignment);
            CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(object) % alignment, 0);
            resource.deallocate(object, size, alignment);
        }
    }
    CHECK_EQUAL(upstream.held, 0);
    void *line = resource.allocate(60, 64);
    CHECK(hew_pool_of(line) == resource.set());
    void *page = resource.allocate(8192, 8192);
    CHECK_EQUAL(upstream.held, 1);
    resource.deallocate(line, 60, 64);
    resource.deallocate(page, 8192, 8192);
    CHECK_EQUAL(upstream.held, 0);
}

TEST(an_aligned_object_beyond_a_bound_is_upstreams)
{
    counting_resource upstream;
    hew_pool_options options{};
    options.fixed_only = true;
    hew::pool_resource resource({{64, 10}}, &options, &upstream);
    std::vector<void *> objects;
    for (int i = 0; i < 100; i++) {
        objects.push_back(resource.allocate(64, 64));
        CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(objects.back()) % 64, 0);
    }
    CHECK(upstream.held >= 80);
    for (void *object : objects) {
        resource.deallocate(object, 64, 64);
    }
    CHECK_EQUAL(upstream.held, 0);
    CHECK_EQUAL(in_use(resource.set(), 64), 0);
}

TEST(a_set_without_memory_throws_bad_alloc)
{
    hew_pool_options options{};
    options.fixed_only = true;
    options.beyond = HEW_POOL_BEYOND_NULL;
    hew::pool_resource resource({{64, 10}}, &options);
    bool thrown = false;
    try {
        for (int i = 0; i < 1000; i++) {
            static_cast<void>(resource.allocate(64));
        }
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
}

TEST(a_set_that_cannot_be_made_throws_its_error)
{
    int error = 0;
    try {
        hew::pool_resource resource({{0, 10}});
    } catch (const std::system_error &thrown) {
        error = thrown.code().value();
    }
    CHECK_EQUAL(error, EINVAL);
}

TEST(objects_that_are_left_go_with_a_set_of_its_own)
{
    auto resource = std::make_unique<hew::pool_resource>(std::initializer_list<hew_pool_size>{{64, 10}});
    static_cast<void>(resource->allocate(64));
    resource.reset();
}

TEST(a_borrowed_set_stays)
{
    const hew_pool_size sizes[] = {{64, 100}};
    hew_pool_set *set = hew_pool_create(sizes, 1, nullptr);
    {
        hew::pool_resource one(set), other(set);
        CHECK(one == one && one != other);
        std::pmr::vector<int> list({1, 2, 3}, &one);
        CHECK(hew_pool_of(list.data()) == set);
    }
    CHECK_EQUAL(hew_pool_destroy(set), 0);
}

static void
fill_lists(hew::pool_resource *resource, char letter)
{
    for (int round = 0; round < 200; round++) {
        std::pmr::vector<std::pmr::string> list(resource);
        for (int i = 0; i < 20; i++) {
            list.emplace_back(100, letter);
        }
        for (const auto &text : list) {
            CHECK(text.find_first_not_of(letter) == text.npos);
        }
    }
}

TEST(threads_share_a_resource)
{
    hew::pool_resource resource({{32, 1000}, {128, 1000}});
    std::vector<std::thread> threads;
    for (char letter = 'a'; letter < 'i'; letter++) {
        threads.emplace_back(fill_lists, &resource, letter);
    }
    for (auto &thread : threads) {
        thread.join();
    }
    CHECK_EQUAL(in_use(resource.set(), 32) + in_use(resource.set(), 128), 0);
}
