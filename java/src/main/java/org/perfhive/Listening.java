package org.perfhive;

import java.util.Optional;

/** A listener at work: a thread that takes batches from its outbox in the native library. */
final class Listening implements Runnable {
    private final ExperimentListener listener;
    private final NativeObject outbox;
    private final Thread thread;
    // Written by its thread alone.
    private volatile long delivered;
    private volatile Optional<Throwable> failure = Optional.empty();
    private volatile long lost;
    private volatile boolean isDone;

    Listening(ExperimentListener listener, long handle) {
        this.listener = listener;
        this.outbox = new NativeObject("listener", handle);
        this.thread = new Thread(this, "perfhive-listener");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void run() {
        try {
            while (true) {
                Message message = outbox.request().send(Native.Op.LISTENER_TAKE);
                if (!message.bool()) {
                    break;
                }
                RecordBatch batch = new RecordBatch(message);
                listener.deliver(batch);
                delivered = delivered + batch.size();
            }
        } catch (Throwable error) {
            failure = Optional.of(error);
        } finally {
            outbox.request().send(Native.Op.LISTENER_ABANDON);
            lost = outbox.request().send(Native.Op.LISTENER_LOST).int64();
            isDone = true;
            outbox.close();
        }
    }

    private long lost() {
        if (!isDone) {
            try {
                return outbox.request().send(Native.Op.LISTENER_LOST).int64();
            } catch (IllegalStateException closed) {
                // Its thread has asked before it closed the outbox.
            }
        }
        return lost;
    }

    ListenerCounts counts() {
        // Read first: where it is true, the counts are the last ones.
        boolean isDone = this.isDone;
        return new ListenerCounts(delivered, lost(), failure, isDone);
    }

    /**
     * Waits until the listener has got everything, but at most until {@code untilNanos} on the clock of
     * {@link System#nanoTime}. Returns at once if it is called on the listener's own thread.
     */
    void await(long untilNanos) throws InterruptedException {
        long left = (untilNanos - System.nanoTime()) / 1_000_000;
        if (thread != Thread.currentThread() && left > 0) {
            thread.join(left);
        }
    }
}
