/* SPDX-License-Identifier: MIT */
/*
 * cubes: makes the description of a logic function shorter, as logic minimisers do.
 *
 * What is known of espresso: covers, which are growing arrays of cubes, are split and merged again by recursion; a cube is
 * a small set of bits; and the same few sizes come back all the time, beside arrays that grow.  Here: the function's
 * complement by Shannon's expansion; then each cube loses every literal that it can lose without meeting the
 * complement; then cubes inside others go.  Points drawn at random must have the value that they had before.
 */
#include "workload.h"

#include <stdbool.h>

enum { VARIABLES_MOST = 512, PER_WORD = 32, POINTS = 200, TWINS_MOST = 16 };

/* Two bits a variable: 1 it may be false, 2 it may be true, 3 either; 0 makes the cube empty. */
struct cube {
    uint64_t word[1];
};

struct cover {
    struct cube **cube;
    size_t count;
    size_t room;
};

static long functions = 40, variables = 70, cubes = 8, literals = 4;
static uint64_t made;

static size_t
words(void)
{
    return ((size_t)variables + PER_WORD - 1) / PER_WORD;
}

static struct cube *
copy_of(const struct cube *cube)
{
    struct cube *copy = workload_take(words() * sizeof(uint64_t));
    memcpy(copy, cube, words() * sizeof(uint64_t));
    made++;
    return copy;
}

static struct cube *
whole_space(void)
{
    struct cube *cube = workload_take(words() * sizeof(uint64_t));
    memset(cube, 0xff, words() * sizeof(uint64_t));
    made++;
    return cube;
}

static unsigned
literal_at(const struct cube *cube, size_t variable)
{
    return (unsigned)(cube->word[variable / PER_WORD] >> variable % PER_WORD * 2) & 3;
}

static void
set_literal(struct cube *cube, size_t variable, unsigned literal)
{
    size_t shift = variable % PER_WORD * 2;
    uint64_t *word = &cube->word[variable / PER_WORD];
    *word = (*word & ~((uint64_t)3 << shift)) | (uint64_t)literal << shift;
}

/* Whether two cubes have a point in common: no variable is left with neither value. */
static bool
meet(const struct cube *left, const struct cube *right)
{
    for (size_t i = 0; i < words(); i++) {
        uint64_t both = left->word[i] & right->word[i];
        if (((both | both >> 1) & 0x5555555555555555u) != 0x5555555555555555u)
            return false;
    }
    return true;
}

static bool
inside(const struct cube *inner, const struct cube *outer)
{
    for (size_t i = 0; i < words(); i++) {
        if ((inner->word[i] & ~outer->word[i]) != 0)
            return false;
    }
    return true;
}

static void
put(struct cover *cover, struct cube *cube)
{
    if (cover->count == cover->room) {
        cover->room += cover->room / 2 + 4;
        cover->cube = workload_grow(cover->cube, cover->room * sizeof(struct cube *));
    }
    cover->cube[cover->count++] = cube;
}

static void
drop(struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++)
        free(cover->cube[i]);
    free(cover->cube);
    *cover = (struct cover){NULL, 0, 0};
}

/* Takes out every cube that lies inside another one; of two equal ones the earlier stays. */
static void
remove_contained(struct cover *cover)
{
    size_t kept = 0;
    for (size_t i = 0; i < cover->count; i++) {
        bool contained = false;
        for (size_t k = 0; k < cover->count && !contained; k++)
            contained = k != i && cover->cube[k] != NULL && inside(cover->cube[i], cover->cube[k]);
        if (contained) {
            free(cover->cube[i]);
            cover->cube[i] = NULL;
        }
    }
    for (size_t i = 0; i < cover->count; i++) {
        if (cover->cube[i] != NULL)
            cover->cube[kept++] = cover->cube[i];
    }
    cover->count = kept;
}

/* The cover where a variable has one value: cubes that allow it, without the variable. */
static struct cover
cofactor(const struct cover *cover, size_t variable, unsigned literal)
{
    struct cover found = {NULL, 0, 0};
    for (size_t i = 0; i < cover->count; i++) {
        if ((literal_at(cover->cube[i], variable) & literal) != 0) {
            struct cube *cube = copy_of(cover->cube[i]);
            set_literal(cube, variable, 3);
            put(&found, cube);
        }
    }
    return found;
}

/* The variable that most cubes ask for; `variables` when none asks for any. */
static size_t
busiest_variable(const struct cover *cover)
{
    size_t best = (size_t)variables, most = 0;
    for (size_t variable = 0; variable < (size_t)variables; variable++) {
        size_t asking = 0;
        for (size_t i = 0; i < cover->count; i++)
            asking += literal_at(cover->cube[i], variable) != 3;
        if (asking > most) {
            most = asking;
            best = variable;
        }
    }
    return best;
}

/* Moves the cubes of one half of space into the whole's cover.  A cube that both halves have needs no literal; looking
   for it ends after a few, as it would take longer than all the rest otherwise. */
static void
merge(struct cover *into, struct cover *half, size_t variable, unsigned literal)
{
    for (size_t i = 0; i < half->count; i++) {
        struct cube *twin = NULL;
        set_literal(half->cube[i], variable, 1);
        for (size_t k = 0; k < into->count && k < TWINS_MOST && twin == NULL && literal == 2; k++)
            twin = memcmp(half->cube[i], into->cube[k], words() * sizeof(uint64_t)) == 0 ? into->cube[k] : NULL;
        if (twin != NULL) {
            set_literal(twin, variable, 3);
            free(half->cube[i]);
        } else {
            set_literal(half->cube[i], variable, literal);
            put(into, half->cube[i]);
        }
    }
    free(half->cube);
}

static struct cover
complement(const struct cover *cover)
{
    struct cover found = {NULL, 0, 0};
    size_t variable = busiest_variable(cover);
    if (cover->count == 0)
        put(&found, whole_space());
    if (cover->count == 0 || variable == (size_t)variables)
        return found;
    for (unsigned literal = 1; literal <= 2; literal++) {
        struct cover part = cofactor(cover, variable, literal), outside;
        remove_contained(&part);
        outside = complement(&part);
        drop(&part);
        merge(&found, &outside, variable, literal);
    }
    return found;
}

/* Each literal is left out where the larger cube stays clear of the complement. */
static void
expand(struct cube *cube, const struct cover *outside)
{
    for (size_t variable = 0; variable < (size_t)variables; variable++) {
        unsigned literal = literal_at(cube, variable);
        bool clear = true;
        set_literal(cube, variable, 3);
        for (size_t i = 0; i < outside->count && clear; i++)
            clear = !meet(cube, outside->cube[i]);
        if (!clear)
            set_literal(cube, variable, literal);
    }
}

static bool
covers(const struct cover *cover, const struct cube *point)
{
    for (size_t i = 0; i < cover->count; i++) {
        if (inside(point, cover->cube[i]))
            return true;
    }
    return false;
}

static struct cover
draw_function(uint64_t *random)
{
    struct cover cover = {NULL, 0, 0};
    for (long i = 0; i < cubes; i++) {
        struct cube *cube = whole_space();
        for (long k = 0; k < literals; k++) {
            size_t variable = workload_random(random) % (uint64_t)variables;
            set_literal(cube, variable, 1 + (unsigned)(workload_random(random) & 1));
        }
        put(&cover, cube);
    }
    return cover;
}

/* Points near the cubes: one drawn anywhere would hardly ever lie in one. */
static void
check(const struct cover *before, const struct cover *after, const struct cover *outside, uint64_t *random)
{
    for (long i = 0; i < POINTS; i++) {
        struct cube *point = copy_of(before->cube[workload_random(random) % before->count]);
        set_literal(point, workload_random(random) % (uint64_t)variables, 3);
        for (size_t variable = 0; variable < (size_t)variables; variable++) {
            if (literal_at(point, variable) == 3)
                set_literal(point, variable, 1 + (unsigned)(workload_random(random) & 1));
        }
        bool value = covers(before, point);
        if (covers(after, point) != value || covers(outside, point) == value)
            workload_fail("cubes", "the function has changed");
        free(point);
    }
}

static uint64_t
minimise(uint64_t *random)
{
    struct cover function = draw_function(random), outside = complement(&function), shorter = {NULL, 0, 0};
    for (size_t i = 0; i < function.count; i++) {
        put(&shorter, copy_of(function.cube[i]));
        expand(shorter.cube[i], &outside);
    }
    remove_contained(&shorter);
    check(&function, &shorter, &outside, random);
    uint64_t sum = workload_mix(outside.count, shorter.count);
    drop(&function);
    drop(&outside);
    drop(&shorter);
    return sum;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"functions", &functions, "functions to make shorter"},
        {"variables", &variables, "variables of a function"},
        {"cubes", &cubes, "cubes of a function"},
        {"literals", &literals, "literals of a cube, at most"},
    };
    uint64_t random = 1, checksum = 0;
    workload_parse(argc, argv, "A logic minimiser: covers of cubes, split and merged.", options, 4);
    workload_require("variables", variables, 1, VARIABLES_MOST);
    workload_require("cubes", cubes, 1, 1l << 20);
    double start = workload_seconds();
    for (long i = 0; i < functions; i++)
        checksum = workload_mix(checksum, minimise(&random));
    workload_report("cubes", made, workload_seconds() - start, checksum);
    return 0;
}
