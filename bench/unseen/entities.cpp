/* SPDX-License-Identifier: MIT */
/*
 * entities: a game's world: entities with components come and go each frame, in waves, and a level ends with nearly all.
 *
 * Per frame some hundred particles with short lives, events with lists of receivers, names made for logging; per level meshes
 * of 20 KiB to 1 MiB, textures of 1 to 4 MiB, and a tree of space that is built anew.
 */
#include "workload.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace
{

struct Component {
    virtual ~Component() = default;
};
struct Body : Component {
    std::array<float, 12> place{};
};
struct Particles : Component {
    std::vector<std::array<float, 4>> points;
};
struct Script : Component {
    std::string source;
    std::function<int(int)> step;
};

struct Entity {
    long dies;
    std::vector<std::unique_ptr<Component>> components;
};

struct Space {
    std::unique_ptr<Space> part[4];
    std::vector<Entity *> inside;
};

Entity
born(uint64_t &random, long frame)
{
    Entity entity{frame + static_cast<long>(workload_between(&random, 1, 400)), {}};
    entity.components.push_back(std::make_unique<Body>());
    if (workload_random(&random) % 2 == 0) {
        auto particles = std::make_unique<Particles>();
        particles->points.resize(workload_between(&random, 4, 200));
        entity.components.push_back(std::move(particles));
    }
    if (workload_random(&random) % 8 == 0) {
        auto script = std::make_unique<Script>();
        script->source.assign(workload_between(&random, 50, 1500), 's');
        std::array<int, 8> captured{static_cast<int>(frame)};
        script->step = [captured](int at) { return captured[0] + at; };
        entity.components.push_back(std::move(script));
    }
    return entity;
}

void
bury(std::vector<Entity> &entities, long frame)
{
    for (size_t i = 0; i < entities.size();) {
        if (entities[i].dies > frame) {
            i++;
            continue;
        }
        entities[i] = std::move(entities.back());
        entities.pop_back();
    }
}

std::unique_ptr<Space>
divided(std::vector<Entity *> entities, int depth)
{
    auto space = std::make_unique<Space>();
    if (depth == 0 || entities.size() < 8) {
        space->inside = std::move(entities);
        return space;
    }
    for (size_t part = 0; part < 4; part++) {
        std::vector<Entity *> inside;
        for (size_t i = part; i < entities.size(); i += 4)
            inside.push_back(entities[i]);
        space->part[part] = divided(std::move(inside), depth - 1);
    }
    return space;
}

} // namespace

int
main(int argc, char **argv)
{
    static long levels = 4, frames = 400;
    const struct workload_option options[] = {
        {"levels", &levels, "levels"},
        {"frames", &frames, "frames of a level"},
    };
    workload_parse(argc, argv, "A game's entities, frame by frame.", options, 2);
    double start = workload_seconds();
    uint64_t random = 1, checksum = 0;
    for (long level = 0; level < levels; level++) {
        std::vector<std::vector<unsigned char>> meshes;
        for (unsigned i = 0; i < 60; i++)
            meshes.emplace_back(i % 10 == 0 ? workload_log_size(&random, 20, 22) : workload_log_size(&random, 14, 20),
                                1);
        std::vector<Entity> entities;
        for (long frame = 0; frame < frames; frame++) {
            for (uint64_t i = workload_between(&random, 50, frame % 100 < 10 ? 900 : 150); i > 0; i--)
                entities.push_back(born(random, frame));
            bury(entities, frame);
            std::vector<Entity *> all;
            for (Entity &entity : entities)
                all.push_back(&entity);
            auto space = divided(all, 5);
            std::string log = "frame " + std::to_string(frame) + ": " + std::to_string(all.size()) + " entities";
            checksum = workload_mix(checksum, log.size() + all.size());
        }
    }
    workload_report("entities", static_cast<uint64_t>(levels * frames), workload_seconds() - start, checksum);
    return 0;
}
