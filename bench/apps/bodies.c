/* SPDX-License-Identifier: MIT */
/*
 * bodies: gravity among bodies, by a tree of space that is built anew in each step and freed after it.
 *
 * Barnes and Hut's method (1986): a cell of space that holds more than one body is cut into eight; a cell that is far
 * away acts like one body in its centre of mass.  Each cell is an object of its own, as is each body's place in its leaf:
 * two sizes, made in the order of the bodies and freed in the order of the tree.
 */
#include "workload.h"

#include <math.h>

enum { CORNERS = 8, DEEPEST = 40 };

struct vector {
    double x, y, z;
};

struct body {
    struct vector place;
    struct vector speed;
    double mass;
};

struct leaf {
    const struct body *body;
    struct leaf *next; /* another body of the same cell, where cells cannot be cut further */
};

struct cell {
    struct vector middle;
    struct vector mass_centre;
    double half;
    double mass;
    struct leaf *leaf;
    struct cell *corner[CORNERS];
    int cut;
};

static long count = 4000, steps = 10;
static uint64_t cells_made;

static struct cell *
make_cell(struct vector middle, double half)
{
    struct cell *cell = calloc(1, sizeof *cell);
    if (cell == NULL)
        workload_fail("bodies", "out of memory");
    cell->middle = middle;
    cell->half = half;
    cells_made++;
    return cell;
}

static struct cell *
corner_of(struct cell *cell, const struct vector *place)
{
    int x = place->x > cell->middle.x, y = place->y > cell->middle.y, z = place->z > cell->middle.z;
    struct cell **corner = &cell->corner[x | y << 1 | z << 2];
    double half = cell->half / 2;
    if (*corner == NULL) {
        struct vector middle = {cell->middle.x + (x ? half : -half), cell->middle.y + (y ? half : -half),
                                cell->middle.z + (z ? half : -half)};
        *corner = make_cell(middle, half);
    }
    return *corner;
}

static void
insert(struct cell *cell, struct leaf *leaf)
{
    for (int depth = 0;; depth++) {
        if (!cell->cut && (cell->leaf == NULL || depth == DEEPEST)) {
            leaf->next = cell->leaf;
            cell->leaf = leaf;
            return;
        }
        if (!cell->cut) {
            corner_of(cell, &cell->leaf->body->place)->leaf = cell->leaf;
            cell->leaf = NULL;
            cell->cut = 1;
        }
        cell = corner_of(cell, &leaf->body->place);
    }
}

static void
add_mass(struct cell *cell, const struct vector *centre, double mass)
{
    cell->mass_centre.x += centre->x * mass;
    cell->mass_centre.y += centre->y * mass;
    cell->mass_centre.z += centre->z * mass;
    cell->mass += mass;
}

static void
weigh(struct cell *cell)
{
    for (struct leaf *leaf = cell->leaf; leaf != NULL; leaf = leaf->next)
        add_mass(cell, &leaf->body->place, leaf->body->mass);
    for (size_t i = 0; i < CORNERS; i++) {
        if (cell->corner[i] != NULL) {
            weigh(cell->corner[i]);
            add_mass(cell, &cell->corner[i]->mass_centre, cell->corner[i]->mass);
        }
    }
    cell->mass_centre.x /= cell->mass;
    cell->mass_centre.y /= cell->mass;
    cell->mass_centre.z /= cell->mass;
}

/* A cell seen under less than about 50 degrees is one body; a little softening keeps close ones apart. */
static void
pull(const struct cell *cell, struct body *body)
{
    struct vector way = {cell->mass_centre.x - body->place.x, cell->mass_centre.y - body->place.y,
                         cell->mass_centre.z - body->place.z};
    double square = way.x * way.x + way.y * way.y + way.z * way.z + 1e-4;
    if (cell->cut && 4 * cell->half * cell->half > 0.8 * square) {
        for (size_t i = 0; i < CORNERS; i++) {
            if (cell->corner[i] != NULL)
                pull(cell->corner[i], body);
        }
        return;
    }
    double strength = 1e-3 * cell->mass / (square * sqrt(square));
    body->speed.x += way.x * strength;
    body->speed.y += way.y * strength;
    body->speed.z += way.z * strength;
}

static void
drop(struct cell *cell)
{
    for (struct leaf *leaf = cell->leaf, *next; leaf != NULL; leaf = next) {
        next = leaf->next;
        free(leaf);
    }
    for (size_t i = 0; i < CORNERS; i++) {
        if (cell->corner[i] != NULL)
            drop(cell->corner[i]);
    }
    free(cell);
}

static double
reach(const struct body *bodies)
{
    double far = 1;
    for (long i = 0; i < count; i++)
        far = fmax(far, fmax(fabs(bodies[i].place.x), fmax(fabs(bodies[i].place.y), fabs(bodies[i].place.z))));
    return far;
}

static void
step(struct body *bodies)
{
    struct cell *root = make_cell((struct vector){0, 0, 0}, reach(bodies));
    for (long i = 0; i < count; i++) {
        struct leaf *leaf = workload_take(sizeof *leaf);
        leaf->body = &bodies[i];
        insert(root, leaf);
    }
    weigh(root);
    if (fabs(root->mass - (double)count) > 1e-6 * (double)count)
        workload_fail("bodies", "the tree has lost a body");
    for (long i = 0; i < count; i++)
        pull(root, &bodies[i]);
    drop(root);
    for (long i = 0; i < count; i++) {
        bodies[i].place.x += bodies[i].speed.x * 0.01;
        bodies[i].place.y += bodies[i].speed.y * 0.01;
        bodies[i].place.z += bodies[i].speed.z * 0.01;
    }
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"bodies", &count, "bodies"},
        {"steps", &steps, "steps, each with a tree of its own"},
    };
    uint64_t random = 1, checksum = 0;
    workload_parse(argc, argv, "Gravity by a tree that is built anew in each step.", options, 2);
    workload_require("bodies", count, 2, 1l << 28);
    double start = workload_seconds();
    struct body *bodies = calloc((size_t)count, sizeof *bodies);
    if (bodies == NULL)
        workload_fail("bodies", "out of memory");
    for (long i = 0; i < count; i++) {
        double *place[] = {&bodies[i].place.x, &bodies[i].place.y, &bodies[i].place.z};
        for (size_t axis = 0; axis < 3; axis++)
            *place[axis] = (double)workload_between(&random, 0, 1u << 20) / (1u << 19) - 1;
        bodies[i].mass = 1;
    }
    for (long i = 0; i < steps; i++)
        step(bodies);
    for (long i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &bodies[i].place.x, sizeof bits);
        checksum = workload_mix(checksum, bits);
    }
    free(bodies);
    workload_report("bodies", cells_made, workload_seconds() - start, checksum);
    return 0;
}
