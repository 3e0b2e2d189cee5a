package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The result of an experiment.
 *
 * @param elapsed how long the experiment took
 * @param events the figures of events by name and kind, and of sections by name, in the order in which
 *     they first occurred
 * @param unmatched the number of starts without an end and of ends without a start
 * @param unnamed the number of events and sections without figures, because there were too many names
 * @param overhead the seconds from when the event source handed out an event until its record was
 *     complete
 * @param bindings the counts of each binding's events
 * @param listeners the counts of each listener's records
 * @param failures a text for each file that could not be written to its end, with the reason
 */
public record ExperimentEnd(
        Duration elapsed,
        List<EventSummary> events,
        long unmatched,
        long unnamed,
        SummaryFigures overhead,
        List<BindingCounts> bindings,
        List<ListenerCounts> listeners,
        List<String> failures) {
    /** Refuses {@code null} for any part. */
    public ExperimentEnd {
        Objects.requireNonNull(elapsed);
        events = List.copyOf(events);
        Objects.requireNonNull(overhead);
        bindings = List.copyOf(bindings);
        listeners = List.copyOf(listeners);
        failures = List.copyOf(failures);
    }

    /**
     * The number of events of all bindings that have no record.
     *
     * @return how many events were lost or missed
     */
    public long lost() {
        return bindings.stream().mapToLong(binding -> binding.lost() + binding.missed()).sum();
    }

    /**
     * The figures of the sections of a name.
     *
     * @param name the name
     * @return the figures, if there were sections of this name
     */
    public Optional<EventSummary> section(String name) {
        Objects.requireNonNull(name);
        return events.stream().filter(event -> event.isSection() && event.name().equals(name)).findFirst();
    }

    static ExperimentEnd read(Message message) {
        Duration elapsed = Duration.ofNanos(message.int64());
        long unmatched = message.int64();
        long unnamed = message.int64();
        SummaryFigures overhead = SummaryFigures.read(message);
        List<EventSummary> events = message.list(() -> EventSummary.read(message));
        List<BindingCounts> bindings = BindingCounts.read(message);
        return new ExperimentEnd(elapsed, events, unmatched, unnamed, overhead, bindings,
                List.of(), message.list(message::text));
    }

    ExperimentEnd withListeners(List<ListenerCounts> counts) {
        return new ExperimentEnd(
                elapsed, events, unmatched, unnamed, overhead, bindings, counts, failures);
    }
}
