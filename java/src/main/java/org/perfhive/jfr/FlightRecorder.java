package org.perfhive.jfr;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;
import org.perfhive.Anomaly;
import org.perfhive.EventRecord;
import org.perfhive.Readings;
import org.perfhive.RecordBatch;
import org.perfhive.SampleRecord;
import org.perfhive.Section;
import org.perfhive.SensorSlot;

/**
 * Writes samples as events to the flight recordings of the JVM, so that Java Mission Control shows
 * them beside the JVM's own events: {@code org.perfhive.Sample} for each sample, and
 * {@code org.perfhive.Reading} for each reading that has a value. Of an experiment it writes
 * {@code org.perfhive.Record} for each record, {@code org.perfhive.RecordReading} for each value of a
 * record, and {@code org.perfhive.Section} for each section. Without a flight recording it does nothing.
 */
public final class FlightRecorder {
    private FlightRecorder() {}

    /**
     * Commits the events of a sample.
     *
     * @param record the record of the sample
     * @param readings the readings of the sample
     */
    public static void commit(SampleRecord record, Readings readings) {
        Objects.requireNonNull(record);
        Objects.requireNonNull(readings);
        SampleEvent sample = new SampleEvent();
        if (sample.shouldCommit()) {
            sample.sampleDuration = record.duration().toNanos();
            sample.age = record.age().toNanos();
            sample.readings = readings.size();
            for (int index = 0; index < readings.size(); index++) {
                sample.withoutValue += readings.hasValue(index) ? 0 : 1;
            }
            sample.anomalies =
                    record.anomalies().stream().map(Anomaly::message).collect(Collectors.joining("; "));
            sample.commit();
        }
        if (!new ReadingEvent().isEnabled()) {
            return;
        }
        for (int index = 0; index < readings.size(); index++) {
            // An event has no missing number.
            if (readings.hasValue(index)) {
                commit(readings.slot(index), readings.approximately(index));
            }
        }
    }

    /**
     * Commits the events of an experiment's records, and of the sections that end with them. This method
     * is a listener: {@code experiment.listen(FlightRecorder::commit)}. The start time that a flight
     * recording shows is the time of delivery; the field {@code at} has the time at which the experiment's
     * event happened.
     *
     * @param batch the records
     */
    public static void commit(RecordBatch batch) {
        boolean isWanted = new RecordEvent().isEnabled();
        boolean areReadingsWanted = new RecordReadingEvent().isEnabled();
        if (isWanted || areReadingsWanted) {
            List<String> sensors =
                    batch.columns().stream().map(column -> column.name().toString()).toList();
            for (EventRecord record : batch.records()) {
                long at = batch.wallTime(record.time()).toEpochMilli();
                RecordEvent event = new RecordEvent();
                event.event = record.name();
                event.kind = record.kind().name().toLowerCase(Locale.ROOT);
                event.source = batch.source();
                event.thread = record.thread();
                event.at = at;
                event.monotonic = record.time();
                event.delay = record.delay().toNanos();
                event.sample = record.sample().toNanos();
                event.commit();
                for (int column = 0; areReadingsWanted && column < sensors.size(); column++) {
                    if (record.readings().get(column).value().isPresent()) {
                        RecordReadingEvent reading = new RecordReadingEvent();
                        reading.event = record.name();
                        reading.at = at;
                        reading.monotonic = record.time();
                        reading.sensor = sensors.get(column);
                        reading.value = record.readings().get(column).value().getAsDouble();
                        reading.unit = batch.columns().get(column).unit();
                        reading.commit();
                    }
                }
            }
        }
        for (Section section : batch.sections()) {
            SectionEvent event = new SectionEvent();
            event.section = section.name();
            event.thread = section.thread();
            event.at = batch.wallTime(section.start()).toEpochMilli();
            event.monotonic = section.start();
            event.sectionDuration = section.duration().toNanos();
            // The least of the type is JFR's word for a missing time span.
            event.threadTime = section.threadTime().map(Duration::toNanos).orElse(Long.MIN_VALUE);
            event.calls = section.calls();
            event.commit();
        }
    }

    private static void commit(SensorSlot slot, double value) {
        ReadingEvent event = new ReadingEvent();
        event.sensor = slot.name().toString();
        event.source = slot.sensor().name().source();
        event.group = slot.sensor().name().group();
        event.name = slot.sensor().name().sensor();
        event.instance = slot.instance().orElse("");
        event.value = value;
        event.unit = slot.sensor().unit();
        event.commit();
    }
}
