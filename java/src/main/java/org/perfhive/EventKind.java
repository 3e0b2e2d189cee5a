package org.perfhive;

/** What an event is. */
public enum EventKind {
    /** A point. */
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
