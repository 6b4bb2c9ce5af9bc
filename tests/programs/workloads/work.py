# SPDX-License-Identifier: MIT
"""What Python programs do with memory; prints one digest per round, the same for the same number of rounds."""

import hashlib
import json
import multiprocessing
import pickle
import random
import re
import sys
import threading


def objects(chance: random.Random) -> str:
    """Dictionaries and lists that grow, are copied and die."""
    table: dict[str, list[int]] = {}
    for number in range(60_000):
        table.setdefault(f"key-{chance.randrange(9000)}", []).append(number)
    for key in list(table)[::3]:
        del table[key]
    text = json.dumps(table, sort_keys=True)
    again = json.loads(text)
    blob = pickle.dumps({key: tuple(value) for key, value in again.items()})
    return hashlib.sha256(text.encode() + str(sorted(pickle.loads(blob).items())).encode()).hexdigest()


def strings(chance: random.Random) -> str:
    """Strings joined, split and rewritten."""
    words = ["".join(chance.choices("abcdefgh ", k=chance.randint(1, 40))) for _ in range(20_000)]
    text = " ".join(words)
    text = re.sub(r"(\w)(\w+)", lambda match: match.group(2) + match.group(1), text)
    grown = bytearray()
    for word in text.split():
        grown += word.encode() * 3
    return hashlib.sha256(grown).hexdigest()


def threads(chance: random.Random) -> str:
    """Objects made in one thread and dropped in another."""
    shared: list[bytes] = []
    results: dict[int, int] = {}
    lock = threading.Lock()

    def work(number: int, seed: int) -> None:
        own = random.Random(seed)
        total = 0
        for _ in range(1500):
            block = own.randbytes(own.randrange(3000))
            total += len(block)
            with lock:
                shared.append(block)
                if len(shared) > 500:
                    shared.pop(total % len(shared))
        results[number] = total

    pool = [threading.Thread(target=work, args=(number, chance.randrange(2**32))) for number in range(16)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    return str(sorted(results.items()))


def forked(number: int) -> str:
    return objects(random.Random(number))


def main() -> None:
    chance = random.Random(4)
    for _ in range(int(sys.argv[1])):
        print(objects(chance), strings(chance), threads(chance))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(forked, range(4)))


main()
