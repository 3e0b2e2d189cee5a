package org.perfhive;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The calls of an experiment: their names, and the native queue in which they wait. */
final class Points {
    static final int POINT = 0;
    static final int START = 1;
    static final int END = 2;
    /** The number that is added to the kind of an event where the thread's processor time is to be read. */
    private static final int THREAD_TIME = 4;

    /** The number of a name that the queue refuses (it is empty, or there is no room); its calls count as missed. */
    private static final Integer REFUSED = -1;

    /** {@code Thread.isVirtual} of newer JDKs; on an older one, a handle that returns {@code false}. */
    private static final MethodHandle IS_VIRTUAL = isVirtual();

    private final NativeObject queue;
    private final Map<String, Integer> numbers = new ConcurrentHashMap<>();
    private final boolean all;

    Points(long handle, List<String> names) {
        this.queue = new NativeObject("queue of calls", handle);
        this.all = names.isEmpty();
        names.forEach(name -> numbers.put(name, number(name)));
    }

    private static MethodHandle isVirtual() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException older) {
            return MethodHandles.dropArguments(
                    MethodHandles.constant(boolean.class, false), 0, Thread.class);
        }
    }

    private Integer number(String name) {
        return queue.request().text(name).send(Native.Op.CALL_NAME).int32();
    }

    void tell(String name, int kind) {
        Integer number = numbers.get(name);
        if (number == null) {
            if (!all) {
                return;
            }
            number = learn(name);
        }
        Thread thread = Thread.currentThread();
        int what = kind == POINT || isVirtual(thread) ? kind : kind | THREAD_TIME;
        // A queue that is closed belongs to an experiment that is over.
        Native.tell(queue.handleOrZero(), what, number, (int) thread.getId());
    }

    private Integer learn(String name) {
        try {
            Integer number = number(name);
            numbers.put(name, number);
            return number;
        } catch (PerfhiveException | IllegalStateException refusedOrOver) {
            return REFUSED;
        }
    }

    /**
     * Whether a thread is virtual. The processor time of such a thread is that of the thread that carries it,
     * and is not read.
     */
    private static boolean isVirtual(Thread thread) {
        try {
            return (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable never) {
            throw new AssertionError(never);
        }
    }

    void close() {
        queue.close();
    }
}
