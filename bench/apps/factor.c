/* SPDX-License-Identifier: MIT */
/*
 * factor: factors whole numbers of any length, where every result of an operation is an object of its own.
 *
 * What is known of cfrac: bursts of numbers of one to a few words, most of which die within the next two operations,
 * beside a few that stay.  The method here is Pollard's rho in Brent's form (1980), with Miller and Rabin's test for
 * primes; each number is made as a product of primes and must come out as that product again.
 */
#include "workload.h"

enum { LIMB_BITS = 32, BETWEEN_GCDS = 128, WITNESSES = 8 };

/* Little end first; no leading zero limbs, zero has none at all.  Never changed once it is made. */
struct number {
    size_t count;
    uint32_t limb[];
};

static long numbers = 12, primes = 3, bits = 34;
static uint64_t made;

static struct number *
number_of(const uint32_t *limb, size_t count)
{
    while (count > 0 && limb[count - 1] == 0)
        count--;
    struct number *number = workload_take(sizeof *number + count * sizeof *limb);
    number->count = count;
    if (count > 0)
        memcpy(number->limb, limb, count * sizeof *limb);
    made++;
    return number;
}

static struct number *
number_from(uint64_t value)
{
    const uint32_t limb[2] = {(uint32_t)value, (uint32_t)(value >> LIMB_BITS)};
    return number_of(limb, 2);
}

static int
compare(const struct number *left, const struct number *right)
{
    if (left->count != right->count)
        return left->count < right->count ? -1 : 1;
    for (size_t i = left->count; i > 0; i--) {
        if (left->limb[i - 1] != right->limb[i - 1])
            return left->limb[i - 1] < right->limb[i - 1] ? -1 : 1;
    }
    return 0;
}

static struct number *
add(const struct number *left, const struct number *right)
{
    size_t count = (left->count > right->count ? left->count : right->count) + 1;
    uint32_t sum[count];
    uint64_t carry = 0;
    for (size_t i = 0; i < count; i++) {
        carry += (i < left->count ? left->limb[i] : 0) + (uint64_t)(i < right->count ? right->limb[i] : 0);
        sum[i] = (uint32_t)carry;
        carry >>= LIMB_BITS;
    }
    return number_of(sum, count);
}

/* The distance between two numbers. */
static struct number *
distance(const struct number *left, const struct number *right)
{
    if (compare(left, right) < 0)
        return distance(right, left);
    uint32_t rest[left->count + 1];
    uint64_t borrow = 0;
    for (size_t i = 0; i < left->count; i++) {
        uint64_t value = (uint64_t)left->limb[i] - (i < right->count ? right->limb[i] : 0) - borrow;
        rest[i] = (uint32_t)value;
        borrow = value >> LIMB_BITS & 1;
    }
    return number_of(rest, left->count);
}

static struct number *
multiply(const struct number *left, const struct number *right)
{
    size_t count = left->count + right->count;
    uint32_t product[count + 1];
    memset(product, 0, sizeof product);
    for (size_t i = 0; i < left->count; i++) {
        uint64_t carry = 0;
        for (size_t k = 0; k < right->count; k++) {
            carry += (uint64_t)left->limb[i] * right->limb[k] + product[i + k];
            product[i + k] = (uint32_t)carry;
            carry >>= LIMB_BITS;
        }
        product[i + right->count] = (uint32_t)carry;
    }
    return number_of(product, count);
}

/* rest -= divisor << 32 * at, times `digit`; what is left below zero comes back as 1. */
static uint32_t
take_away(uint32_t *rest, const uint32_t *divisor, size_t count, uint64_t digit)
{
    uint64_t carry = 0, borrow = 0;
    for (size_t i = 0; i <= count; i++) {
        carry += i < count ? digit * divisor[i] : 0;
        uint64_t value = (uint64_t)rest[i] - (uint32_t)carry - borrow;
        rest[i] = (uint32_t)value;
        borrow = value >> LIMB_BITS & 1;
        carry >>= LIMB_BITS;
    }
    return (uint32_t)borrow;
}

static void
give_back(uint32_t *rest, const uint32_t *divisor, size_t count)
{
    uint64_t carry = 0;
    for (size_t i = 0; i <= count; i++) {
        carry += (uint64_t)rest[i] + (i < count ? divisor[i] : 0);
        rest[i] = (uint32_t)carry;
        carry >>= LIMB_BITS;
    }
}

static void
shift_left(uint32_t *to, const uint32_t *from, size_t count, unsigned shift)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < count; i++) {
        carry |= (uint64_t)from[i] << shift;
        to[i] = (uint32_t)carry;
        carry >>= LIMB_BITS;
    }
    to[count] = (uint32_t)carry;
}

/* Long division as on paper: both are shifted until the divisor's highest bit is set, so that a digit that is guessed
   from the two highest limbs is at most two too large.  Returns the remainder; the quotient too where it is wanted. */
static struct number *
divide(const struct number *left, const struct number *right, struct number **quotient)
{
    size_t count = right->count, digits = left->count < count ? 0 : left->count - count + 1;
    unsigned shift = (unsigned)__builtin_clz(right->limb[count - 1]);
    uint32_t rest[left->count + count + 2], divisor[count + 1], answer[digits + 1];
    memset(rest, 0, sizeof rest);
    shift_left(rest, left->limb, left->count, shift);
    shift_left(divisor, right->limb, count, shift);
    for (size_t at = digits; at > 0; at--) {
        uint32_t *here = rest + at - 1;
        uint64_t guess = ((uint64_t)here[count] << LIMB_BITS | here[count - 1]) / divisor[count - 1];
        if (guess > UINT32_MAX)
            guess = UINT32_MAX;
        for (uint32_t below = take_away(here, divisor, count, guess); below != 0; guess--) {
            uint32_t top = here[count];
            give_back(here, divisor, count);
            below = here[count] >= top;
        }
        answer[at - 1] = (uint32_t)guess;
    }
    for (size_t i = 0; i < count; i++)
        rest[i] = (uint32_t)((rest[i] | (uint64_t)rest[i + 1] << LIMB_BITS) >> shift);
    if (quotient != NULL)
        *quotient = number_of(answer, digits);
    return number_of(rest, count);
}

/* left * right modulo `modulus`. */
static struct number *
multiply_within(const struct number *left, const struct number *right, const struct number *modulus)
{
    struct number *product = multiply(left, right), *rest = divide(product, modulus, NULL);
    free(product);
    return rest;
}

static void
replace(struct number **place, struct number *number)
{
    free(*place);
    *place = number;
}

static int
is_small(const struct number *number, uint32_t value)
{
    return value == 0 ? number->count == 0 : number->count == 1 && number->limb[0] == value;
}

static struct number *
common_divisor(const struct number *left, const struct number *right)
{
    struct number *large = number_of(left->limb, left->count), *small = number_of(right->limb, right->count);
    while (small->count > 0) {
        struct number *rest = divide(large, small, NULL);
        replace(&large, small);
        small = rest;
    }
    free(small);
    return large;
}

/* One witness of Miller and Rabin: does `base` show that the odd number is composite? */
static int
shows_composite(const struct number *odd, uint32_t base)
{
    struct number *one = number_from(1), *less = distance(odd, one), *power = number_from(1),
                  *square = number_from(base);
    size_t twos = 0, length = less->count * LIMB_BITS;
    while ((less->limb[twos / LIMB_BITS] >> twos % LIMB_BITS & 1) == 0)
        twos++;
    for (size_t bit = twos; bit < length; bit++) {
        if (less->limb[bit / LIMB_BITS] >> bit % LIMB_BITS & 1)
            replace(&power, multiply_within(power, square, odd));
        replace(&square, multiply_within(square, square, odd));
    }
    int composite = !is_small(power, 1);
    for (size_t i = 0; composite && i < twos; i++) {
        composite = compare(power, less) != 0;
        replace(&power, multiply_within(power, power, odd));
    }
    free(one);
    free(less);
    free(power);
    free(square);
    return composite;
}

static int
is_prime(const struct number *odd)
{
    static const uint32_t witness[WITNESSES] = {2, 3, 5, 7, 11, 13, 17, 19};
    for (size_t i = 0; i < WITNESSES; i++) {
        if (shows_composite(odd, witness[i]))
            return 0;
    }
    return 1;
}

/* One step of the walk: place * place + way, within the number. */
static void
walk(struct number **place, const struct number *way, const struct number *number)
{
    struct number *square = multiply_within(*place, *place, number), *moved = add(square, way);
    free(square);
    replace(place, divide(moved, number, NULL));
    free(moved);
}

/* A divisor of a composite number: 1 or the number itself when this walk finds none. */
static struct number *
divisor_by_walk(const struct number *number, uint64_t seed)
{
    struct number *way = number_from(seed), *place = number_from(seed + 1), *mark = number_from(0);
    struct number *product = number_from(1), *divisor = number_from(1);
    for (uint64_t walked = 0, next_mark = 1; is_small(divisor, 1); walked++) {
        if (walked == next_mark - 1) {
            replace(&mark, number_of(place->limb, place->count));
            next_mark *= 2;
        }
        walk(&place, way, number);
        struct number *gap = distance(place, mark);
        replace(&product, multiply_within(product, gap, number));
        free(gap);
        if (walked % BETWEEN_GCDS == 0 || product->count == 0)
            replace(&divisor, common_divisor(number, product));
    }
    free(way);
    free(place);
    free(mark);
    free(product);
    return divisor;
}

/* Splits the number down to its primes, multiplies them into `whole`, and sums their scrambled last limbs. */
static uint64_t
factor(const struct number *number, struct number **whole)
{
    if (is_prime(number)) {
        replace(whole, multiply(*whole, number));
        return workload_scramble(number->limb[0]);
    }
    struct number *divisor = NULL, *quotient = NULL;
    for (uint64_t seed = 1; divisor == NULL || compare(divisor, number) == 0; seed++)
        replace(&divisor, divisor_by_walk(number, seed));
    free(divide(number, divisor, &quotient));
    uint64_t sum = factor(divisor, whole) + factor(quotient, whole);
    free(divisor);
    free(quotient);
    return sum;
}

static struct number *
draw_prime(uint64_t *random)
{
    uint64_t low = 1ull << (bits - 1);
    struct number *prime = number_from(workload_between(random, low, 2 * low - 1) | 1), *two = number_from(2);
    while (!is_prime(prime))
        replace(&prime, add(prime, two));
    free(two);
    return prime;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"numbers", &numbers, "numbers to factor"},
        {"primes", &primes, "primes that each is the product of"},
        {"bits", &bits, "bits of a prime"},
    };
    uint64_t random = 1, checksum = 0;
    workload_parse(argc, argv, "Factors numbers; every result of an operation is an object.", options, 3);
    workload_require("primes", primes, 1, 64);
    workload_require("bits", bits, 6, 60);
    double start = workload_seconds();
    for (long i = 0; i < numbers; i++) {
        struct number *number = number_from(1), *whole = number_from(1);
        for (long k = 0; k < primes; k++) {
            struct number *prime = draw_prime(&random);
            replace(&number, multiply(number, prime));
            free(prime);
        }
        checksum = workload_mix(checksum, factor(number, &whole));
        if (compare(number, whole) != 0)
            workload_fail("factor", "the primes are not those of the number");
        free(number);
        free(whole);
    }
    workload_report("factor", made, workload_seconds() - start, checksum);
    return 0;
}
