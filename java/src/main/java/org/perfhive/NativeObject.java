package org.perfhive;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/** A native object by its handle. It is closed once: by {@code close}, or when it is garbage. */
final class NativeObject implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final String what;
    private final AtomicLong handle;
    private final Cleaner.Cleanable cleanable;

    /** The object of a handle, under the name by which people know it: {@code category Process}. */
    NativeObject(String what, long handle) {
        this.what = what;
        AtomicLong kept = new AtomicLong(handle);
        this.handle = kept;
        // The action must not hold this object.
        this.cleanable = CLEANER.register(this, () -> {
            long open = kept.getAndSet(0);
            if (open != 0) {
                Native.close(open);
            }
        });
    }

    /** The handle; 0, which no object has, after closing. */
    long handleOrZero() {
        return handle.get();
    }

    /** The handle. After closing, the method throws an exception that names the object. */
    long handle() {
        long open = handle.get();
        if (open == 0) {
            throw closed(what);
        }
        return open;
    }

    /** The exception for a failed call with the handle: {@code error}, or that the object was closed meanwhile. */
    RuntimeException explain(PerfhiveException error) {
        boolean gone = error.kind() == PerfhiveException.Kind.HANDLE && handle.get() == 0;
        return gone ? closed(what) : error;
    }

    /** The exception that every use of a closed object throws. */
    static IllegalStateException closed(String what) {
        return new IllegalStateException("the " + what + " is closed");
    }

    /** Calls {@code work} with the handle, and keeps the object from becoming garbage and closed meanwhile. */
    void use(LongConsumer work) {
        try {
            work.accept(handle());
        } catch (PerfhiveException error) {
            throw explain(error);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    Message.Request request() {
        return new Message.Request().handle(this);
    }

    @Override
    public void close() {
        cleanable.clean();
    }
}
