package org.perfhive;

import java.time.Duration;

/** A clock that is read before and after a sample. */
public interface TimeSource {
    /** The value of {@link #now()} where the clock cannot be read. */
    long UNREADABLE = Long.MIN_VALUE;

    /**
     * The name of the clock.
     *
     * @return the name, such as {@code wall}
     */
    String label();

    /**
     * The smallest step of the clock.
     *
     * @return the step
     */
    Duration resolution();

    /**
     * The time in nanoseconds since the beginning of the clock. It should not allocate.
     *
     * @return the time, or {@link #UNREADABLE}
     */
    long now();

    /** The clocks of this machine. The first two exist on every system, the others on Linux and Windows. */
    enum Clock implements TimeSource {
        /** Calendar time since 1970, UTC. It may jump when it is set. */
        WALL("wall"),
        /** Time that only goes forward. */
        MONOTONIC("monotonic"),
        /** The performance counter that this machine's data blocks carry. */
        PERFORMANCE_COUNTER("performance-counter"),
        /** Processor time of all threads of this process. */
        PROCESS_CPU("process-cpu"),
        /** Processor time of the thread that reads the clock; for a virtual thread, that of its carrier. */
        THREAD_CPU("thread-cpu");

        private final String label;

        Clock(String label) {
            this.label = label;
        }

        @Override
        public String label() {
            return label;
        }

        private long[] facts() {
            Message answer = new Message.Request().int32(ordinal()).send(Native.Op.CLOCK_FACTS);
            boolean isThere = answer.bool();
            return isThere ? new long[] {answer.int64(), answer.int64()} : new long[2];
        }

        @Override
        public Duration resolution() {
            return Duration.ofNanos(facts()[0]);
        }

        /**
         * The time that reading the clock takes in the native library, measured now. The call from Java
         * takes more.
         *
         * @return the time of one reading
         */
        public Duration cost() {
            return Duration.ofNanos(facts()[1]);
        }

        @Override
        public long now() {
            return Native.now(ordinal());
        }

        @Override
        public String toString() {
            return label;
        }
    }
}
