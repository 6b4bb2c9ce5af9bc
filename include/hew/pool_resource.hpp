// SPDX-License-Identifier: MIT
//
// pool_resource: a pool set as a std::pmr::memory_resource, for containers of C++17 and later.
//
//     hew::pool_resource nodes({{48, 10000}, {96, 2000}});
//     std::pmr::map<int, std::pmr::string> map(&nodes);
//
// Threads   As with std::pmr::synchronized_pool_resource, any thread may use it at any time, except during construction
//           and destruction.
// Errors    std::bad_alloc if the set has no memory.  The constructor throws std::system_error with the error of
//           hew_pool_create().
// Objects   The set's fallback serves sizes above the largest.  A request for more alignment than the set guarantees
//           gets an object from a pool whose size implies that alignment, otherwise from `upstream`.
#ifndef HEW_POOL_RESOURCE_HPP
#define HEW_POOL_RESOURCE_HPP

#include "hew/pool.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory_resource>
#include <new>
#include <system_error>

namespace hew
{

class pool_resource : public std::pmr::memory_resource
{
  public:
    // Creates a set, which the destructor destroys with every object that is still in use, as the standard's own pool
    // resources do.
    explicit pool_resource(std::initializer_list<hew_pool_size> sizes, const hew_pool_options *options = nullptr,
                           std::pmr::memory_resource *upstream = std::pmr::get_default_resource())
        : pool_resource(sizes.begin(), sizes.size(), options, upstream)
    {
    }

    pool_resource(const hew_pool_size *sizes, std::size_t count, const hew_pool_options *options = nullptr,
                  std::pmr::memory_resource *upstream = std::pmr::get_default_resource())
        : set_(hew_pool_create(sizes, count, options)), upstream_(upstream), owns_(true)
    {
        if (set_ == nullptr) {
            throw std::system_error(errno, std::generic_category(), "hew_pool_create");
        }
    }

    // Uses an existing set, which must outlive the resource.
    explicit pool_resource(hew_pool_set *set,
                           std::pmr::memory_resource *upstream = std::pmr::get_default_resource()) noexcept
        : set_(set), upstream_(upstream), owns_(false)
    {
    }

    pool_resource(const pool_resource &) = delete;
    pool_resource &operator=(const pool_resource &) = delete;

    ~pool_resource() override
    {
        if (owns_) {
            hew_pool_destroy_with_objects(set_);
        }
    }

    hew_pool_set *
    set() const noexcept
    {
        return set_;
    }

    std::pmr::memory_resource *
    upstream_resource() const noexcept
    {
        return upstream_;
    }

  protected:
    void *
    do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        if (alignment <= always_) {
            void *object = hew_pool_malloc(set_, bytes);
            return object != nullptr ? object : throw std::bad_alloc();
        }
        return allocate_aligned(bytes, alignment);
    }

    // Only an object of the set can have come from the set with such an alignment.
    void
    do_deallocate(void *object, std::size_t bytes, std::size_t alignment) override
    {
        if (alignment <= always_ || hew_pool_of(object) == set_) {
            hew_pool_free(set_, object);
        } else {
            upstream_->deallocate(object, bytes, alignment);
        }
    }

    bool
    do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        return this == &other;
    }

  private:
    static constexpr std::size_t always_ = 16; // the alignment that every set guarantees

    // A size that is a multiple of the alignment has it.  Beyond a limit of the set, however, the object is the
    // fallback's.
    void *
    allocate_aligned(std::size_t bytes, std::size_t alignment)
    {
        std::size_t whole = (bytes + alignment - 1) & ~(alignment - 1);
        std::size_t usable = whole < bytes ? 0 : hew_pool_size_for(set_, whole == 0 ? alignment : whole);
        if (usable != 0 && usable % alignment == 0) {
            void *object = hew_pool_malloc(set_, usable);
            if (object != nullptr && hew_pool_of(object) == set_ &&
                reinterpret_cast<std::uintptr_t>(object) % alignment == 0) {
                return object;
            }
            hew_pool_free(set_, object);
        }
        return upstream_->allocate(bytes, alignment);
    }

    hew_pool_set *set_;
    std::pmr::memory_resource *upstream_;
    bool owns_;
};

} // namespace hew

#endif
