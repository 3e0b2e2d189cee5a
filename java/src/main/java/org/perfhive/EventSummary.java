package org.perfhive;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The figures of the events of one name, or of its sections.
 *
 * @param source the name of the event source
 * @param name the name of the events or sections
 * @param kind the kind of the events; empty for the sections of this name
 * @param count the number of events or sections
 * @param time in seconds: for events the time from the event to the end of its sample, for sections
 *     their duration without the calls in them; sections with unknown calls are left out
 * @param part in seconds: for events how long the sample took, for sections the processor time of
 *     their thread without the calls in them
 * @param sensors the sensors with the figures of their values; for sections with the figures of the
 *     growth of their raw values, in seconds where these count time
 */
public record EventSummary(
        String source,
        String name,
        Optional<EventKind> kind,
        long count,
        SummaryFigures time,
        SummaryFigures part,
        Map<RecordColumn, SummaryFigures> sensors) {
    /** The place that stands for sections in the messages of the native library. */
    private static final int SECTION = 3;

    /** Refuses {@code null} for any part. */
    public EventSummary {
        Objects.requireNonNull(source);
        Objects.requireNonNull(name);
        Objects.requireNonNull(kind);
        Objects.requireNonNull(time);
        Objects.requireNonNull(part);
        // In the order of the columns, which Map.copyOf does not keep.
        sensors = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(sensors));
    }

    /**
     * Whether these are the figures of sections.
     *
     * @return {@code true} for sections, {@code false} for events
     */
    public boolean isSection() {
        return kind.isEmpty();
    }

    static EventSummary read(Message message) {
        String source = message.text();
        String name = message.text();
        int kind = message.int8();
        long count = message.int64();
        SummaryFigures time = SummaryFigures.read(message);
        SummaryFigures part = SummaryFigures.read(message);
        Map<RecordColumn, SummaryFigures> sensors = new LinkedHashMap<>();
        int columns = message.int32();
        for (int column = 0; column < columns; column++) {
            RecordColumn of = RecordColumn.read(message);
            sensors.put(of, SummaryFigures.read(message));
        }
        Optional<EventKind> of = kind == SECTION ? Optional.empty() : Optional.of(EventKind.of(kind));
        return new EventSummary(source, name, of, count, time, part, sensors);
    }
}
