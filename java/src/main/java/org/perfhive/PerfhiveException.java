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
        /** The source has the sensor, and does not deliver it now. */
        NOT_DELIVERED,
        /** A name has an instance where the sensor has none, or the other way round. */
        INSTANCES,
        /** There are two data sources of one name. */
        SAME_NAME,
        /** The operation is not possible in this state. Nothing was changed. */
        STATE,
        /** The source failed. */
        SOURCE,
        /** The source did not answer in time. The next answer may be in time. */
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
        /** A data source of the program's own failed, or something else. */
        OTHER,
        /** What was asked for is a mistake of another kind, which the message names. */
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

    /** Called by the native library, which knows a kind by its place. */
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
     * Whether the caller made a mistake, such as a wrong name, rather than a source.
     *
     * @return whether nothing was wrong with the source
     */
    public boolean isMisuse() {
        return switch (kind) {
            case NOT_DELIVERED, SOURCE, LATE, END_OF_DATA, HANDLE, INTERNAL, OTHER -> false;
            default -> true;
        };
    }
}
