package org.perfhive;

/** The kind of an event. */
public enum EventKind {
    /** A point in the life of the program, without a duration. */
    POINT,
    /** The start of a section. */
    START,
    /** The end of a section. */
    END;

    static EventKind of(int place) {
        return switch (place) {
            case 0 -> POINT;
            case 1 -> START;
            case 2 -> END;
            default -> throw new IllegalArgumentException("no kind of events: " + place);
        };
    }
}
