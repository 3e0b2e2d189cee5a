package org.perfhive;

import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

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
    /** Counted down once the thread is done, or ends the experiment itself. */
    private final CountDownLatch away = new CountDownLatch(1);

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
            try {
                outbox.request().send(Native.Op.LISTENER_ABANDON);
                lost = outbox.request().send(Native.Op.LISTENER_LOST).int64();
                isDone = true;
                outbox.close();
            } finally {
                away.countDown();
            }
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

    /** Whether this is the listener's own thread. If so, other listeners that end it wait for it no more. */
    boolean isOwnThread() {
        boolean isOwn = thread == Thread.currentThread();
        if (isOwn) {
            away.countDown();
        }
        return isOwn;
    }

    /**
     * Waits until the listener has got everything, but at most until {@code untilNanos} on the clock of
     * {@link System#nanoTime}.
     *
     * @param isListener whether a listener waits, which then waits for no listener that ends the experiment as well:
     *     each would wait for the other
     */
    void await(long untilNanos, boolean isListener) throws InterruptedException {
        long left = (untilNanos - System.nanoTime()) / 1_000_000;
        if (left > 0 && isListener) {
            away.await(left, TimeUnit.MILLISECONDS);
        } else if (left > 0) {
            thread.join(left);
        }
    }
}
