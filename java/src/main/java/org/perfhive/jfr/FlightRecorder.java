package org.perfhive.jfr;

import java.util.stream.Collectors;
import org.perfhive.Anomaly;
import org.perfhive.Readings;
import org.perfhive.SampleRecord;
import org.perfhive.SensorSlot;

/**
 * Writes samples to the flight recording that is at work, so that Java Mission Control shows them
 * beside the JVM's own events: {@code org.perfhive.Sample} for each sample, and
 * {@code org.perfhive.Reading} for each reading that has a value. Where no recording is at work it
 * does nothing.
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
