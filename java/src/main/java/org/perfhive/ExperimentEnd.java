package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The result of an experiment.
 *
 * @param elapsed how long the experiment took
 * @param events the figures by event, in the order in which the events first occurred
 * @param unmatched starts without an end, and ends without a start
 * @param unnamed events and sections that are not in the figures because there were too many names
 * @param overhead seconds from when the event source handed out an event until its record was complete
 * @param bindings what became of the events of each binding
 * @param listeners what became of the records for each listener
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
    /** Checks the parts. */
    public ExperimentEnd {
        Objects.requireNonNull(elapsed);
        events = List.copyOf(events);
        Objects.requireNonNull(overhead);
        bindings = List.copyOf(bindings);
        listeners = List.copyOf(listeners);
        failures = List.copyOf(failures);
    }

    /**
     * The events of which there is no record, in all bindings.
     *
     * @return how many were lost or missed
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
