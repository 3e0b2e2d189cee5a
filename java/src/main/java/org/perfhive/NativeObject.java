package org.perfhive;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;

/** A native object by its handle. It is closed once: by {@code close}, or when it is garbage. */
final class NativeObject implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final AtomicLong handle;
    private final Cleaner.Cleanable cleanable;

    NativeObject(Object owner, long handle) {
        AtomicLong kept = new AtomicLong(handle);
        this.handle = kept;
        // The action must not hold the owner.
        this.cleanable = CLEANER.register(owner, () -> {
            long open = kept.getAndSet(0);
            if (open != 0) {
                Native.close(open);
            }
        });
    }

    /** The handle; 0, which no object has, after closing. */
    long handle() {
        return handle.get();
    }

    Message.Request request() {
        return new Message.Request().int64(handle());
    }

    @Override
    public void close() {
        cleanable.clean();
    }
}
