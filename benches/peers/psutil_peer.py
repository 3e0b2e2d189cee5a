"""Reads 10 attributes of every process, or every thread, at each line of input."""

import sys
import time

import psutil

NAMES = [
    "pid", "ppid", "name", "cpu_times", "num_threads",
    "create_time", "memory_info", "io_counters", "num_fds", "status",
]


def processes():
    return sum(1 for _ in psutil.process_iter(NAMES))


def threads():
    count = 0
    for process in psutil.process_iter():
        try:
            count += len(process.threads())
        except psutil.Error:
            pass
    return count


read = threads if sys.argv[1] == "threads" else processes
for _ in sys.stdin:
    begin = time.thread_time()
    number = read()
    print(time.thread_time() - begin, number, flush=True)
