/* SPDX-License-Identifier: MIT */
/*
 * evaluator: random arithmetic expressions as text, parsed into trees, computed with numbers of any length.
 *
 * One thread; many nodes of one small size that live and die together (a tree), and numbers whose sizes grow with the
 * value and that live for one operation.  Each result is compared with the same expression computed modulo a prime.
 */
#include "workload.h"

enum { PRIME = 1000000007 };

/* limb[0] is the lowest; a number holds at least one limb. */
struct number {
    size_t length;
    uint32_t limb[];
};

struct node {
    char operation; /* '+', '*' or 'n' for a number */
    struct node *left;
    struct node *right;
    struct number *value;
};

struct source {
    char *text;
    size_t length;
    size_t room;
};

static long expressions = 80000, depth = 8, digits = 24;
static uint64_t operations;

static struct number *
number_new(size_t length)
{
    struct number *number = workload_take(sizeof *number + length * sizeof number->limb[0]);
    number->length = length;
    memset(number->limb, 0, length * sizeof number->limb[0]);
    operations++;
    return number;
}

static void
number_trim(struct number *number)
{
    while (number->length > 1 && number->limb[number->length - 1] == 0)
        number->length--;
}

static struct number *
number_add(const struct number *a, const struct number *b)
{
    size_t length = (a->length > b->length ? a->length : b->length) + 1;
    struct number *sum = number_new(length);
    uint64_t carry = 0;
    for (size_t i = 0; i < length; i++) {
        carry += (i < a->length ? a->limb[i] : 0) + (uint64_t)(i < b->length ? b->limb[i] : 0);
        sum->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    number_trim(sum);
    return sum;
}

static struct number *
number_multiply(const struct number *a, const struct number *b)
{
    struct number *product = number_new(a->length + b->length);
    for (size_t i = 0; i < a->length; i++) {
        uint64_t carry = 0;
        for (size_t j = 0; j < b->length; j++) {
            carry += (uint64_t)a->limb[i] * b->limb[j] + product->limb[i + j];
            product->limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product->limb[i + b->length] = (uint32_t)carry;
    }
    number_trim(product);
    return product;
}

static struct number *
number_parse(const char **text)
{
    struct number *value = number_new(1);
    for (; **text >= '0' && **text <= '9'; ++*text) {
        uint64_t carry = (uint64_t)(**text - '0');
        for (size_t i = 0; i < value->length; i++) {
            carry += (uint64_t)value->limb[i] * 10;
            value->limb[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry != 0) {
            value = workload_grow(value, sizeof *value + (value->length + 1) * sizeof value->limb[0]);
            value->limb[value->length++] = (uint32_t)carry;
        }
    }
    return value;
}

static uint64_t
number_modulo(const struct number *number)
{
    uint64_t rest = 0;
    for (size_t i = number->length; i > 0; i--)
        rest = ((rest << 32) | number->limb[i - 1]) % PRIME;
    return rest;
}

static void
source_add(struct source *source, char character)
{
    if (source->length + 1 >= source->room) {
        source->room = source->room * 2 + 32;
        source->text = workload_grow(source->text, source->room);
    }
    source->text[source->length++] = character;
    source->text[source->length] = '\0';
}

/* Every operation stands in brackets, so that the parser needs no precedence. */
static void
source_write(struct source *source, uint64_t *random, long levels)
{
    if (levels == 0 || workload_random(random) % 8 == 0) {
        for (uint64_t i = workload_between(random, 1, (uint64_t)digits); i > 0; i--)
            source_add(source, (char)('1' + workload_random(random) % 9));
        return;
    }
    source_add(source, '(');
    source_write(source, random, levels - 1);
    source_add(source, workload_random(random) % 3 == 0 ? '*' : '+');
    source_write(source, random, levels - 1);
    source_add(source, ')');
}

static struct node *
parse(const char **text)
{
    struct node *node = workload_take(sizeof *node);
    operations++;
    memset(node, 0, sizeof *node);
    if (**text != '(') {
        node->operation = 'n';
        node->value = number_parse(text);
        return node;
    }
    ++*text;
    node->left = parse(text);
    node->operation = *(*text)++;
    node->right = parse(text);
    ++*text;
    return node;
}

static struct number *
evaluate(const struct node *node)
{
    if (node->operation == 'n') {
        struct number *copy = number_new(node->value->length);
        memcpy(copy->limb, node->value->limb, copy->length * sizeof copy->limb[0]);
        return copy;
    }
    struct number *left = evaluate(node->left), *right = evaluate(node->right);
    struct number *result = node->operation == '+' ? number_add(left, right) : number_multiply(left, right);
    free(left);
    free(right);
    return result;
}

static uint64_t
evaluate_modulo(const struct node *node)
{
    if (node->operation == 'n')
        return number_modulo(node->value);
    uint64_t left = evaluate_modulo(node->left), right = evaluate_modulo(node->right);
    return node->operation == '+' ? (left + right) % PRIME : left * right % PRIME;
}

static void
free_tree(struct node *node)
{
    if (node == NULL)
        return;
    free_tree(node->left);
    free_tree(node->right);
    free(node->value);
    free(node);
}

static uint64_t
run_expression(uint64_t *random)
{
    struct source source = {NULL, 0, 0};
    source_write(&source, random, depth);
    const char *text = source.text;
    struct node *tree = parse(&text);
    struct number *value = evaluate(tree);
    uint64_t rest = number_modulo(value);
    if (rest != evaluate_modulo(tree))
        workload_fail("evaluator", "two ways to compute an expression differ");
    free(value);
    free_tree(tree);
    free(source.text);
    return rest;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"expressions", &expressions, "expressions to parse and compute"},
        {"depth", &depth, "levels of brackets"},
        {"digits", &digits, "digits of a literal, at most"},
    };
    workload_parse(argc, argv, "Expression evaluator: syntax trees and numbers of any length, one thread.", options, 3);
    workload_require("depth", depth, 0, 24);
    workload_require("digits", digits, 1, 1 << 20);
    uint64_t random = 11, checksum = 0;
    double start = workload_seconds();
    for (long i = 0; i < expressions; i++)
        checksum = workload_mix(checksum, run_expression(&random));
    workload_report("evaluator", operations, workload_seconds() - start, checksum);
    return 0;
}
