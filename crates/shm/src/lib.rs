//! Counters that a program publishes in shared memory.
