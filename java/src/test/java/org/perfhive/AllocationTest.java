package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the measuring thread allocates on Java's heap. The native heap: see probe.rs. */
class AllocationTest {
    private static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static long allocated() {
        return THREADS.getCurrentThreadAllocatedBytes();
    }

    @Test
    void aWarmSampleAllocatesNothing() {
        MeasurementOptions options =
                MeasurementOptions.DEFAULT.withTimes(TimeSource.Clock.values());
        try (DataSources sources = DataSources.open("local:");
                MeasurementContext context = MeasurementContext.of(
                        sources, List.of(SensorName.parse(Machine.own("% Processor Time"))), options)) {
            long least = Long.MAX_VALUE;
            for (int round = 0; round < 50; round++) {
                context.prepare();
                long before = allocated();
                context.sample();
                least = Math.min(least, allocated() - before);
                context.decode();
            }
            // The first rounds load classes; an interpreter has no other allocations of its own.
            assertEquals(0, least);
        }
    }

    @Test
    void aSnapshotOfAllProcessesTakesLessThan64KiB() {
        String[] names = {
            "% Processor Time", "Working Set", "Private Bytes", "Page Faults/sec", "Thread Count",
            "IO Read Bytes/sec", "IO Write Bytes/sec"
        };
        String[] sensors = new String[names.length];
        for (int place = 0; place < names.length; place++) {
            sensors[place] = Machine.sensor("Process", names[place]) + "#*";
        }
        try (DataSources sources = DataSources.open("local:");
                MeasurementContext context = MeasurementContext.of(sources, sensors)) {
            long least = Long.MAX_VALUE;
            for (int round = 0; round < 20; round++) {
                long before = allocated();
                Readings readings = context.cycle();
                double sum = 0;
                for (int place = 0; place < readings.size(); place++) {
                    sum += readings.hasValue(place) ? readings.approximately(place) : 0;
                }
                least = Math.min(least, allocated() - before);
                assertTrue(sum > 0);
            }
            assertTrue(least < 64 << 10, least + " bytes");
        }
    }
}
