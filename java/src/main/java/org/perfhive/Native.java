package org.perfhive;

/** The native methods. A handle is a number of the native library's table, never an address. */
final class Native {
    static {
        NativeLibrary.load();
    }

    private Native() {}

    /** The operations of {@link #call}. Each has the same number, its place, in {@code Op} of calls.rs. */
    enum Op {
        HANDLES, CLOCK_FACTS, PARSE_NAME,
        OPEN, SENSORS, FIND, INSTANCES, ADVANCE, NAMES, PROBE,
        STRUCTURE, REASONS, ANOMALIES,
        SNAPSHOT, SNAPSHOT_PREPARE, SNAPSHOT_SAMPLE, SNAPSHOT_DECODE, SNAPSHOT_OBJECTS,
        SNAPSHOT_COUNTERS, SNAPSHOT_INSTANCES, SNAPSHOT_ITEM_COUNT, SNAPSHOT_ITEMS, SNAPSHOT_FAULTS,
        CATEGORIES, CATEGORY_INSTANCES, CATEGORY_HAS, CATEGORY_COUNTERS, CATEGORY_READ, DATA_PLACES,
        DATA_VALUES, DATA_ONE, COUNTER, COUNTER_NEXT, CALCULATE,
        EXPERIMENT, EXPERIMENT_BIND, EXPERIMENT_LISTEN, EXPERIMENT_BINDINGS, EXPERIMENT_END,
        LISTENER_TAKE, LISTENER_LOST, LISTENER_ABANDON, CALL_NAME,
        PANIC
    }

    /** The number of native objects that are open. */
    static int handles() {
        return new Message.Request().send(Op.HANDLES).int32();
    }

    static native byte[] call(int operation, byte[] request);

    static native void close(long handle);

    static native long now(int clock);

    /**
     * Adds a call to a queue. {@code what} is the kind of the event, plus 4 if the thread's processor time
     * is to be read. Returns 0 if no queue has this handle, and 1 otherwise, even if the queue had no room.
     */
    static native int tell(long handle, int what, int name, int thread);

    static native void prepare(long handle);

    /** Takes a sample and returns the number of anomalies. The patience is a timeout; a negative one is none. */
    static native int sample(long handle, long patienceNanos);

    static native void decode(long handle);

    /** Fills in the number of readings, the versions of structure, reasons and codes, and the number of anomalies. */
    static native void facts(long handle, int[] out);

    static native void values(long handle, long[] bits);

    static native void codes(long handle, byte[] codes);

    static native void rawValues(long handle, long[] raw, long[] before);

    /** One value; for the benchmark only. */
    static native long value(long handle, int place);
}
