package org.perfhive;

import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** Virtual threads where the JDK has them, by reflection: the tests are compiled for Java 17. */
final class VirtualThreads {
    private VirtualThreads() {}

    /** Runs the work on a virtual thread and waits for it; returns false on a JDK without them. */
    static boolean run(Callable<Void> work) throws Exception {
        FutureTask<Void> task = new FutureTask<>(work);
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        } catch (NoSuchMethodException older) {
            return false;
        }
        task.get();
        return true;
    }
}
