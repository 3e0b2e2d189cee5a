package org.perfhive;

import java.util.Objects;

/**
 * A failure of perfhive, with the message that says what is wrong and, where possible, what to do
 * instead. Decide on the {@link #kind()}, never on the words.
 */
public class PerfhiveException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The kind of a failure. */
    public enum Kind {
        /** A text is not the name of a sensor. */
        BAD_NAME,
        /** No data source has the name. */
        UNKNOWN_SOURCE,
        /** The data source has no such sensor. */
        UNKNOWN_SENSOR,
        /** The sensor has no such instance now. */
        UNKNOWN_INSTANCE,
        /** The source has the sensor, but does not deliver its values now. */
        NOT_DELIVERED,
        /** A name has an instance, but the sensor or counter has none; or it lacks an instance that is needed. */
        INSTANCES,
        /** Two data sources have the same name. */
        SAME_NAME,
        /** The operation is not possible in the object's present state, and changed nothing. */
        STATE,
        /** The source failed. */
        SOURCE,
        /** The source did not answer in time, or was busy or changing. The same request may succeed later. */
        LATE,
        /** A recording has no further samples. */
        END_OF_DATA,
        /** The source has no such category or object. */
        UNKNOWN_CATEGORY,
        /** The category has no such counter. */
        UNKNOWN_COUNTER,
        /** A fault inside perfhive: a handle is of no native object, or of one of another kind. */
        HANDLE,
        /** A fault inside perfhive. */
        INTERNAL,
        /** A data source written in Java failed, or the failure has no other kind. */
        OTHER,
        /** The request is a mistake that has no kind of its own; the message names it. */
        REFUSED
    }

    /** The kind. */
    private final Kind kind;

    /**
     * A failure.
     *
     * @param kind the kind
     * @param message what is wrong
     */
    public PerfhiveException(Kind kind, String message) {
        super(Objects.requireNonNull(message));
        this.kind = Objects.requireNonNull(kind);
    }

    /** Called by the native library. {@code kind} is the place of the kind in {@link Kind}. */
    PerfhiveException(int kind, String message) {
        this(Kind.values()[kind], message);
    }

    /**
     * The kind of the failure.
     *
     * @return the kind
     */
    public Kind kind() {
        return kind;
    }

    /**
     * Whether the failure is a mistake of the caller, such as a wrong name.
     *
     * @return {@code true} for a mistake of the caller; {@code false} for every other failure, and at the
     *     end of a recording
     */
    public boolean isMisuse() {
        return switch (kind) {
            case NOT_DELIVERED, SOURCE, LATE, END_OF_DATA, HANDLE, INTERNAL, OTHER -> false;
            default -> true;
        };
    }
}
