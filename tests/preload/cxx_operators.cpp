/* SPDX-License-Identifier: MIT */
/*
 * cxx_operators: every replaceable operator new and delete, what they throw, and the new_handler's loop.
 *
 * The operators are called by name where an expression would let the compiler leave them out.
 */
#include "under_test.h"
#include "unit/test.h"

#include <malloc.h>

#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

const std::size_t impossible = static_cast<std::size_t>(PTRDIFF_MAX) + 1;
const std::size_t huge = static_cast<std::size_t>(PTRDIFF_MAX) - 4096;

bool
good(void *object, std::size_t size, std::size_t alignment)
{
    if (object == nullptr || reinterpret_cast<std::uintptr_t>(object) % alignment != 0 ||
        malloc_usable_size(object) < size)
        return false;
    std::memset(object, 0x2d, size);
    return true;
}

/* libstdc++ before 13 rounds SIZE_MAX up to a multiple of the alignment, which is 0. */
std::size_t
impossible_aligned(std::size_t size)
{
    return under_test_opaque(size == SIZE_MAX && !under_test_strict() ? huge : size);
}

template <typename Call>
bool
throws_bad_alloc(Call call)
{
    try {
        call();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

int handler_calls;

void
give_up_at_the_third_call()
{
    if (++handler_calls == 3)
        std::set_new_handler(nullptr);
}

void
throw_something_else()
{
    handler_calls++;
    throw std::runtime_error("from the handler");
}

void
throw_bad_alloc_from_handler()
{
    handler_calls++;
    throw std::bad_alloc();
}

struct alignas(256) Wide {
    char data[256];
};

} // namespace

TEST(plain_new_and_delete_pair_in_every_form)
{
    for (std::size_t size = 0; size < (std::size_t{1} << 21); size = size * 3 / 2 + 1) {
        void *object = ::operator new(size);
        CHECK(good(object, size, size >= 16 ? 16 : 1));
        ::operator delete(object);
        object = ::operator new[](size);
        CHECK(good(object, size, size >= 16 ? 16 : 1));
        ::operator delete[](object);
        object = ::operator new(size);
        ::operator delete(object, size);
        object = ::operator new[](size);
        ::operator delete[](object, size);
    }
}

TEST(nothrow_new_and_delete_pair)
{
    for (std::size_t size = 0; size < (std::size_t{1} << 21); size = size * 3 / 2 + 1) {
        void *object = ::operator new(size, std::nothrow);
        CHECK(good(object, size, size >= 16 ? 16 : 1));
        ::operator delete(object, std::nothrow);
        object = ::operator new[](size, std::nothrow);
        CHECK(good(object, size, size >= 16 ? 16 : 1));
        ::operator delete[](object, std::nothrow);
    }
}

TEST(aligned_new_and_delete_pair_in_every_form)
{
    for (std::size_t power = 8; power <= (std::size_t{1} << 22); power *= 2) {
        const std::align_val_t alignment{power};
        for (std::size_t size : {std::size_t{1}, power / 2, power, power + 1, std::size_t{1000}, std::size_t{50000}}) {
            void *object = ::operator new(size, alignment);
            CHECK(good(object, size, power));
            ::operator delete(object, alignment);
            object = ::operator new(size, alignment);
            ::operator delete(object, size, alignment);
            object = ::operator new[](size, alignment);
            CHECK(good(object, size, power));
            ::operator delete[](object, alignment);
            object = ::operator new[](size, alignment);
            ::operator delete[](object, size, alignment);
            object = ::operator new(size, alignment, std::nothrow);
            CHECK(good(object, size, power));
            ::operator delete(object, alignment, std::nothrow);
            object = ::operator new[](size, alignment, std::nothrow);
            CHECK(good(object, size, power));
            ::operator delete[](object, alignment, std::nothrow);
        }
    }
}

TEST(new_of_zero_bytes_gives_unique_objects)
{
    void *first = ::operator new(0), *second = ::operator new(0);
    CHECK(first != nullptr && second != nullptr && first != second);
    ::operator delete(first, std::size_t{0});
    ::operator delete(second);
}

TEST(delete_of_null_does_nothing_in_every_form)
{
    const std::align_val_t alignment{64};
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
    ::operator delete(nullptr, std::size_t{8});
    ::operator delete[](nullptr, std::size_t{8});
    ::operator delete(nullptr, alignment);
    ::operator delete[](nullptr, alignment);
    ::operator delete(nullptr, std::size_t{8}, alignment);
    ::operator delete[](nullptr, std::size_t{8}, alignment);
    ::operator delete(nullptr, std::nothrow);
    ::operator delete[](nullptr, std::nothrow);
    ::operator delete(nullptr, alignment, std::nothrow);
    ::operator delete[](nullptr, alignment, std::nothrow);
    void *object = ::operator new(32);
    CHECK(good(object, 32, 16));
    ::operator delete(object);
}

TEST(new_throws_bad_alloc_when_there_is_no_memory)
{
    const std::align_val_t alignment{4096};
    for (std::size_t size : {impossible, huge, SIZE_MAX}) {
        const std::size_t hidden = under_test_opaque(size), rounded = impossible_aligned(size);
        CHECK(throws_bad_alloc([=] { ::operator delete(::operator new(hidden)); }));
        CHECK(throws_bad_alloc([=] { ::operator delete[](::operator new[](hidden)); }));
        CHECK(throws_bad_alloc([=] { ::operator delete(::operator new(rounded, alignment), alignment); }));
        CHECK(throws_bad_alloc([=] { ::operator delete[](::operator new[](rounded, alignment), alignment); }));
    }
    CHECK(throws_bad_alloc([] {
        long *volatile array = new long[under_test_opaque(SIZE_MAX / 4)];
        delete[] array;
    }));
}

TEST(nothrow_new_returns_null_when_there_is_no_memory)
{
    const std::align_val_t alignment{4096};
    for (std::size_t size : {impossible, huge, SIZE_MAX}) {
        const std::size_t hidden = under_test_opaque(size), rounded = impossible_aligned(size);
        CHECK(::operator new(hidden, std::nothrow) == nullptr);
        CHECK(::operator new[](hidden, std::nothrow) == nullptr);
        CHECK(::operator new(rounded, alignment, std::nothrow) == nullptr);
        CHECK(::operator new[](rounded, alignment, std::nothrow) == nullptr);
    }
}

TEST(new_calls_the_handler_until_it_is_taken_away)
{
    const std::size_t size = under_test_opaque(huge);
    const std::align_val_t alignment{64};
    handler_calls = 0;
    std::set_new_handler(give_up_at_the_third_call);
    CHECK(throws_bad_alloc([=] { ::operator delete(::operator new(size)); }));
    CHECK_EQUAL(handler_calls, 3);
    handler_calls = 0;
    std::set_new_handler(give_up_at_the_third_call);
    CHECK(throws_bad_alloc([=] { ::operator delete[](::operator new[](size, alignment), alignment); }));
    CHECK_EQUAL(handler_calls, 3);
    handler_calls = 0;
    std::set_new_handler(give_up_at_the_third_call);
    CHECK(::operator new(size, std::nothrow) == nullptr);
    CHECK_EQUAL(handler_calls, 3);
    CHECK(std::get_new_handler() == nullptr);
}

TEST(what_the_handler_throws_reaches_the_caller_of_new)
{
    const std::size_t size = under_test_opaque(huge);
    bool caught = false;
    handler_calls = 0;
    std::set_new_handler(throw_something_else);
    try {
        ::operator delete(::operator new(size));
    } catch (const std::runtime_error &error) {
        caught = std::string(error.what()) == "from the handler";
    }
    std::set_new_handler(nullptr);
    CHECK(caught);
    CHECK_EQUAL(handler_calls, 1);
}

TEST(nothrow_new_turns_the_handlers_bad_alloc_into_null)
{
    const std::size_t size = under_test_opaque(huge);
    handler_calls = 0;
    std::set_new_handler(throw_bad_alloc_from_handler);
    void *object = ::operator new(size, std::nothrow);
    void *wide = ::operator new[](size, std::align_val_t{64}, std::nothrow);
    std::set_new_handler(nullptr);
    CHECK(object == nullptr && wide == nullptr);
    CHECK_EQUAL(handler_calls, 2);
}

TEST(over_aligned_types_and_containers_work)
{
    auto wide = std::make_unique<Wide[]>(7);
    CHECK(good(wide.get(), 7 * sizeof(Wide), 256));
    std::vector<Wide> wides(5);
    CHECK(good(wides.data(), 5 * sizeof(Wide), 256));
    std::map<std::string, std::vector<std::string>> table;
    for (int i = 0; i < 5000; i++)
        table["key " + std::to_string(i % 700)].push_back(std::string(static_cast<std::size_t>(i % 90), 'v'));
    std::size_t total = 0;
    for (const auto &[key, list] : table)
        total += list.size();
    CHECK_EQUAL(total, 5000);
}

TEST(an_exception_thrown_through_frames_that_own_memory_frees_it)
{
    int caught = 0;
    for (int i = 0; i < 2000; i++) {
        try {
            std::vector<std::string> strings(20, std::string(200, 's'));
            throw std::runtime_error(strings[3] + " with a text of its own");
        } catch (const std::runtime_error &error) {
            caught += std::strlen(error.what()) > 200;
        }
    }
    CHECK_EQUAL(caught, 2000);
}
