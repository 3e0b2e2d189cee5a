package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.perfhive.Machine.fails;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.perfhive.PerfhiveException.Kind;

/** Recorded data of a Windows machine. */
class RecordingTest {
    @Test
    void aRecordingIsMeasuredLikeAMachineUntilItEnds() {
        String data = System.getProperty("perfhive.data", "");
        assumeTrue(!data.isEmpty(), "no real data");
        String blocks = "file:" + Path.of(data, "windows-vista/s00_global.bin")
                + "," + Path.of(data, "windows-vista/s01_global.bin")
                + "," + Path.of(data, "windows-vista/s02_global.bin");
        String titles = Path.of(data, "titles/vista_009_from_pal_SampleLog.txt").toString();
        try (CounterDataSource source = CounterDataSource.open(blocks, List.of(titles));
                DataSources sources = new DataSources().add(source)) {
            assertTrue(source.name().startsWith("log."), source.name());
            SensorName name = SensorName.of(source.name(), "Processor", "% Processor Time");
            try (MeasurementContext context = MeasurementContext.of(
                    sources, List.of(name.withInstance("_Total")), MeasurementOptions.DEFAULT)) {
                double percent = context.cycle().approximately(0);
                assertTrue(percent >= 0 && percent <= 100, "" + percent);
                context.cycle();
                context.prepare();
                fails(Kind.END_OF_DATA, context::sample);
            }
            try (Category process = Category.of(source, "Process")) {
                assertTrue(process.instanceNames().size() > 10);
                source.advance();
                source.advance();
                fails(Kind.END_OF_DATA, source::advance);
            }
            assertEquals(java.util.Optional.of("Process"), CounterNames.of(source).name(230));
        }
    }
}
