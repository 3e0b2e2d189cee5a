#!/usr/bin/env python3
"""Publishes counters from Python, by nothing but docs/manual/shared-memory.md.

    examples/publish.py [COUNT]           then: perfhive watch '\\Python Example(*)\\*'

It counts COUNT times (for ever without it), says so, and waits for the end of
its input.

What Python cannot do: it has no atomic addition. So one lock serialises the
threads of this process, and no other process may write to the file, as the layout
demands anyway. A number is changed by storing all 8 bytes at once: CPython stores an
item of a memoryview of format "Q" by a memcpy of 8 bytes, which is one
instruction on 64-bit machines, though no document promises it. Python has no memory
barriers either. Small updates need none; large ones and instances that come and
go do, so there a reader on a machine that is not x86 could, for a moment, see a
step before the one that was made first.
"""

import fcntl
import mmap
import os
import struct
import sys
import threading
import time

MAGIC, VERSION, HEADER, COUNTER, LIVE, SLOT = b"PERFHSHM", 2, 256, 48, 64, 16
FREE, CHANGING, ALIVE = 0, 1, 2
MASK = 2**64 - 1

PERF_COUNTER_BULK_COUNT = 0x10410500
PERF_COUNTER_LARGE_RAWCOUNT = 0x00010100
PERF_AVERAGE_TIMER, PERF_AVERAGE_BASE = 0x30020400, 0x40030402
PERF_AVERAGE_BULK = 0x40020500
NANOSECONDS = 1


def align(number, to=64):
    return (number + to - 1) // to * to


def start_time():
    with open("/proc/self/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[19])


def namespace(which):
    try:
        return os.stat(f"/proc/self/ns/{which}").st_ino
    except OSError:
        return 0


class Category:
    """A category with instances. `counters` are (name, help, type, base type,
    flags), with base type 0 for those without a base."""

    def __init__(self, name, help, counters, slots, name_size=64):
        self.lock = threading.Lock()
        self.counters, self.slots, self.name_size = counters, slots, align(name_size)
        self.instances, self.used, self.cells = {}, 0, []

        # Where everything lies: pairs first, with a line of the cache each.
        single = 64 * sum(1 for counter in counters if counter[3])
        pair = 0
        for counter in counters:
            if counter[3]:
                self.cells.append(pair)
                pair += 64
            else:
                self.cells.append(single)
                single += 8
        self.values_size = align(single)
        texts = b""

        def text(string):
            nonlocal texts
            place, data = len(texts), string.encode()
            texts += data
            return struct.pack("<II", place, len(data))

        names = text(name) + text(help)
        table = b""
        for (name_, help_, kind, base, flags), cell in zip(counters, self.cells):
            table += text(name_) + text(help_)
            table += struct.pack("<IIiIII8x", kind, base, 0, 100, cell, flags)
        texts_at = HEADER + len(table)
        self.live_at = align(texts_at + len(texts))
        self.names_at = align(self.live_at + LIVE + slots * SLOT)
        self.values_at = self.names_at + slots * self.name_size
        size = self.values_at + slots * self.values_size
        created = time.time_ns() // 100 + 116_444_736_000_000_000
        header = MAGIC + struct.pack("<IIQIIIIQQQQQQII", VERSION, HEADER, size, 1, len(counters),
                                     slots, self.name_size, HEADER, texts_at, len(texts),
                                     self.live_at, self.names_at, self.values_at,
                                     self.values_size, 2**32 - 1)
        header += names + struct.pack("<II5Q", 100, 0, os.getpid(), start_time(), namespace("pid"),
                                      namespace("time"), created)
        definition = header.ljust(HEADER, b"\0") + table + texts

        default = f"/dev/shm/perfhive-{os.geteuid()}"
        folder = os.environ.get("PERFHIVE_COUNTERS") or default
        if folder == default:
            try:
                os.mkdir(folder, 0o755)
            except FileExistsError:
                pass
            stat = os.lstat(folder)
            if stat.st_uid != os.geteuid() or stat.st_mode & 0o170022 != 0o040000:
                raise PermissionError(f"{folder} is not only this user's")
        else:
            os.makedirs(folder, exist_ok=True)
        stem = f"{folder}/{''.join(c if c.isalnum() and c.isascii() else '-' for c in name)[:40]}"
        self.path = f"{stem}-{os.getpid()}-{time.time_ns():x}.counters"
        new = self.path + "-new"
        self.file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX)
            os.posix_fallocate(self.file, 0, size)
            self.map = mmap.mmap(self.file, size)
            self.words = memoryview(self.map).cast("Q")
            self.map[: len(definition)] = definition
            self.words[self.live_at // 8] = 1
            os.fchmod(self.file, 0o644)
            os.rename(new, self.path)
        except BaseException:
            os.unlink(new)
            raise

    def instance(self, name):
        """The instance of a name. Its slot is never used for another."""
        with self.lock:
            if name in self.instances:
                return self.instances[name]
            if self.used == self.slots:
                raise ValueError(f"{self.slots} instances were declared")
            data = name.encode()
            if not 0 < len(data) <= self.name_size or b"\0" in data:
                raise ValueError(f"no name of an instance: {name!r}")
            slot = self.used
            entry = (self.live_at + LIVE + slot * SLOT) // 8
            self.words[entry] |= CHANGING
            at = self.names_at + slot * self.name_size
            self.map[at : at + len(data)] = data
            self.words[entry + 1] = 2**32 - 1 | len(data) << 32
            self.words[entry] = (self.words[entry] & ~3) + 4 | ALIVE
            self.used += 1
            self.words[self.live_at // 8 + 1] = self.used
            self.words[self.live_at // 8 + 2] += 1
            self.instances[name] = Instance(self, slot)
            return self.instances[name]

    def close(self):
        self.words[self.live_at // 8] = 2
        os.unlink(self.path)


class Instance:
    def __init__(self, category, slot):
        self.category, self.slot = category, slot

    def _cell(self, name):
        category = self.category
        for counter, cell in zip(category.counters, category.cells):
            if counter[0] == name:
                return (category.values_at + self.slot * category.values_size + cell) // 8
        raise KeyError(name)

    def remove(self):
        with self.category.lock:
            entry = (self.category.live_at + LIVE + self.slot * SLOT) // 8
            self.category.words[entry] &= ~3 & MASK
            self.category.words[self.category.live_at // 8 + 2] += 1
            self.category.instances = {
                name: one for name, one in self.category.instances.items() if one is not self
            }

    def add(self, name, number):
        """Adds to a counter without a base."""
        words, cell = self.category.words, self._cell(name)
        with self.category.lock:
            words[cell] = (words[cell] + number) & MASK

    def record(self, name, value, base=1):
        """Adds to value and base of a counter that has one."""
        words, cell = self.category.words, self._cell(name)
        with self.category.lock:
            if 1 <= base <= 16 and 0 <= value < 2**29:
                words[cell + 2] = now = (words[cell + 2] + (value << 20) + base) & MASK
                # The anchors: a writer that finds them half of the range behind renews them.
                ahead = (now - (words[cell] << 20) - words[cell + 1]) & MASK
                if ahead >> 20 >= 2**43:
                    words[cell] = (words[cell] + (ahead >> 20)) & MASK
                if ahead % 2**20 >= 2**19:
                    words[cell + 1] = (words[cell + 1] + ahead % 2**20) & MASK
            else:
                words[cell + 3] = (words[cell + 3] + 1) & MASK
                words[cell + 5] = (words[cell + 5] + value) & MASK
                words[cell + 6] = (words[cell + 6] + base) & MASK
                words[cell + 4] = (words[cell + 4] + 1) & MASK


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else None
    category = Category(
        "Python Example",
        "Numbers that a program in Python counts.",
        [
            ("Numbers", "Numbers counted.", PERF_COUNTER_LARGE_RAWCOUNT, 0, 0),
            ("Numbers/sec", "Numbers counted in a second.", PERF_COUNTER_BULK_COUNT, 0, 0),
            ("Avg. Number", "Their mean.", PERF_AVERAGE_BULK, PERF_AVERAGE_BASE, 0),
            ("Avg. sec/Number", "Time each took.", PERF_AVERAGE_TIMER, PERF_AVERAGE_BASE,
             NANOSECONDS),
        ],
        slots=4,
    )
    try:
        category.instance("removed").remove()
        parity = [category.instance("even"), category.instance("odd – ungerade")]
        number = 0
        while most is None or number < most:
            begun = time.monotonic_ns()
            one = parity[number % 2]
            one.add("Numbers", 1)
            one.add("Numbers/sec", 1)
            one.record("Avg. Number", number)
            if most is None:
                time.sleep(0.01)
            one.record("Avg. sec/Number", time.monotonic_ns() - begun)
            number += 1
        # A large step: a million numbers at once.
        parity[0].record("Avg. Number", 10**12, 10**6)
        print(f">{category.path}", flush=True)
        sys.stdin.read()
    except KeyboardInterrupt:
        pass
    finally:
        category.close()


if __name__ == "__main__":
    main()
