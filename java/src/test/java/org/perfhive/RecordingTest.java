package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.perfhive.Machine.fails;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.perfhive.PerfhiveException.Kind;

/** Recorded data of a Windows machine. */
class RecordingTest {
    /** Writes a log of three samples; the line of one of them, or of none, is damaged. */
    private static String log(int damaged) throws Exception {
        StringBuilder log =
                new StringBuilder("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\HOST\\Memory\\Available Bytes\"\r\n");
        for (int second = 0; second < 3; second++) {
            log.append("\"11/26/2026 08:00:0" + second + ".000\",\"1\"");
            log.append(second == damaged ? ",\"2\"\r\n" : "\r\n");
        }
        Path file = Path.of(System.getProperty("perfhive.work"), "log" + damaged + ".csv");
        return "file:" + Files.writeString(file, log);
    }

    @Test
    void damageIsAnAnomalyOfItsSampleAndThatOfTheBaselineOfTheFirst() throws Exception {
        for (int damaged = 0; damaged < 3; damaged++) {
            try (DataSources sources = DataSources.open(log(damaged));
                    MeasurementContext context =
                            MeasurementContext.of(sources, "log.HOST/Memory/Available Bytes")) {
                for (int sample = 1; sample < 3; sample++) {
                    context.cycle();
                    List<Anomaly> anomalies = context.record().anomalies();
                    boolean isHere = sample == Math.max(damaged, 1);
                    assertEquals(isHere ? 1 : 0, anomalies.size(), () -> "" + anomalies);
                    if (isHere) {
                        assertEquals(Anomaly.Code.PARTIAL, anomalies.get(0).code());
                        assertTrue(anomalies.get(0).message().contains("is damaged"), () -> "" + anomalies);
                    }
                }
            }
        }
    }

    @Test
    void damageIsAFaultOfASnapshotsSample() throws Exception {
        for (int damaged = 0; damaged < 3; damaged++) {
            try (CounterDataSource source = CounterDataSource.open(log(damaged));
                    CounterSnapshot snapshot = CounterSnapshot.createSnapshot(source, SnapshotType.GLOBAL)) {
                for (int sample = 0; sample < 3; sample++) {
                    if (sample > 0) {
                        snapshot.prepareSnapshot();
                        int expected = sample == damaged ? CounterSnapshot.ANOMALY : 0;
                        assertEquals(expected, snapshot.sampleSnapshot());
                        snapshot.decodeSnapshot();
                    }
                    assertEquals(sample == damaged ? 1 : 0, snapshot.faults().size(), "" + sample);
                }
            }
        }
    }

    @Test
    void theEndOfARecordingEndsTheBindingsOfAnExperimentWithTheReason() throws Exception {
        try (DataSources sources = DataSources.open(log(-1));
                Experiment experiment = Experiment.builder().start()) {
            EventSource every = new EventSource.Interval(Duration.ofMillis(1));
            experiment.bind(every, sources, "log.HOST/Memory/Available Bytes");
            long end = System.nanoTime() + 60_000_000_000L;
            while (experiment.bindings().get(0).failure().isEmpty()) {
                assertTrue(System.nanoTime() < end, () -> "" + experiment.bindings());
                Thread.sleep(1);
            }
            BindingCounts counts = experiment.end().bindings().get(0);
            assertTrue(counts.failure().orElseThrow().contains("no more than 3 samples"), () -> "" + counts);
            assertEquals(2, counts.events());
        }
    }

    @Test
    void titlesOfASourceWithNamesOfItsOwnAreRefused() {
        String message = fails(Kind.REFUSED, () -> CounterDataSource.open("local:", List.of("009.txt"))).getMessage();
        assertTrue(message.contains("local: has names of its own"), message);
    }

    @Test
    void aDateThatIsNoneCostsNoOtherData() throws Exception {
        String data = System.getProperty("perfhive.data", "");
        assumeTrue(!data.isEmpty(), "no real data");
        byte[] block = Files.readAllBytes(Path.of(data, "windows-vista/s00_global.bin"));
        // The calendar time of the block.
        java.util.Arrays.fill(block, 36, 52, (byte) 0);
        Path file = Files.write(Path.of(System.getProperty("perfhive.work"), "undated.bin"), block);
        try (CounterDataSource source = CounterDataSource.open("file:" + file);
                Category memory = Category.of(source, "4");
                CategoryData read = memory.read()) {
            assertTrue(read.time().isEmpty(), () -> "" + read);
            assertTrue(read.values().get("", "24").isPresent());
        }
    }

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
