package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.perfhive.Machine.fails;
import static org.perfhive.Machine.isClosed;

import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.perfhive.PerfhiveException.Kind;
import org.perfhive.jfr.FlightRecorder;

/** Experiments with events that are the calls of this program, an interval or a threshold. */
class ExperimentTest {
    private static DataSources sources;

    @BeforeAll
    static void open() {
        sources = DataSources.open("local:");
    }

    @AfterAll
    static void close() {
        sources.close();
    }

    private static final class Kept implements ExperimentListener {
        final List<RecordBatch> batches = Collections.synchronizedList(new ArrayList<>());

        @Override
        public void deliver(RecordBatch batch) {
            batches.add(batch);
        }

        List<EventRecord> records() {
            return batches.stream().flatMap(batch -> batch.records().stream()).toList();
        }

        List<Section> sections() {
            return batches.stream().flatMap(batch -> batch.sections().stream()).toList();
        }
    }

    /** Waits until the binding of this number has had so many events. */
    private static void awaitEvents(Experiment experiment, int binding, long events) throws Exception {
        long until = System.nanoTime() + 60_000_000_000L;
        while (experiment.bindings().get(binding).events() < events && System.nanoTime() < until) {
            Thread.sleep(1);
        }
        assertTrue(experiment.bindings().get(binding).events() >= events);
    }

    @Test
    void aGuardThatIsClosedTwiceEndsItsOwnSectionOnly() throws Exception {
        Kept kept = new Kept();
        try (Experiment experiment = Experiment.builder().start()) {
            experiment.listen(kept).bind(
                    new EventSource.Calls("nested"), sources, Machine.own("ID Process"));
            try (var outer = experiment.section("nested")) {
                Experiment.SectionGuard inner = experiment.section("nested");
                inner.close();
                inner.close();
            }
            experiment.end();
        }
        assertEquals(4, kept.records().size());
    }

    @Test
    void callsAndSectionsAreMeasuredAndDelivered() throws Exception {
        Kept kept = new Kept();
        long begun = System.nanoTime();
        ExperimentEnd end;
        try (Experiment experiment = Experiment.builder().start()) {
            experiment.listen(kept).bind(new EventSource.Calls("checkout", "paid"), sources,
                    Machine.own("ID Process"), Machine.own("IO Write Bytes/sec"));
            for (int round = 0; round < 5; round++) {
                try (var checkout = experiment.section("checkout")) {
                    experiment.call("paid");
                    experiment.call("not asked for");
                    Machine.work(2_000_000);
                }
            }
            end = experiment.end();
        }
        List<EventRecord> records = kept.records();
        assertEquals(15, records.size());
        assertEquals(
                List.of(EventKind.START, EventKind.POINT, EventKind.END),
                records.stream().limit(3).map(EventRecord::kind).toList());
        for (EventRecord record : records) {
            assertEquals(Machine.PID, record.process());
            assertEquals(Thread.currentThread().getId(), record.thread());
            assertTrue(begun <= record.time() && record.time() <= record.sampled(), record.toString());
            assertTrue(record.sampled() <= record.done() && record.done() <= System.nanoTime());
            assertEquals(Machine.PID, record.readings().get(0).value().getAsDouble());
            assertEquals(record.kind() == EventKind.POINT, record.threadTime().isEmpty());
        }
        RecordBatch batch = kept.batches.get(0);
        assertEquals(Machine.own("ID Process"), batch.columns().get(0).name().toString());
        assertEquals(Machine.PID, batch.value(0, 0));
        assertEquals(records.get(0).time(), batch.time(0));
        assertEquals("checkout", batch.name(0));
        assertThrows(IndexOutOfBoundsException.class, () -> batch.value(batch.size(), 0));
        assertThrows(IndexOutOfBoundsException.class, () -> batch.value(0, 2));
        long age = System.currentTimeMillis() - batch.wallTime(batch.time(0)).toEpochMilli();
        assertTrue(age >= 0 && age < 60_000, age + " ms");
        assertEquals(5, kept.sections().size());
        for (Section section : kept.sections()) {
            assertTrue(section.duration().toNanos() >= 2_000_000, section.toString());
            assertTrue(section.threadTime().isPresent()
                    && section.threadTime().get().compareTo(section.duration().plusMillis(1)) <= 0);
            // Its start; the point in it tells no time of the thread.
            assertEquals(1, section.calls());
        }
        EventSummary section = end.section("checkout").orElseThrow();
        assertEquals(5, section.count());
        assertTrue(section.time().min() >= 0.002 && section.time().max() < 60);
        EventSummary paid = end.events().stream()
                .filter(event -> event.name().equals("paid")).findFirst().orElseThrow();
        assertEquals(Optional.of(EventKind.POINT), paid.kind());
        assertEquals(Machine.PID, paid.sensors().values().iterator().next().mean().getAsDouble());
        assertEquals(0, end.lost());
        assertEquals(0, end.unmatched());
        assertEquals(List.of(new ListenerCounts(15, 0, Optional.empty(), true)), end.listeners());
    }

    @Test
    void sectionGrowthIsWhatTheSectionCounted() throws Exception {
        Path file = Path.of(System.getProperty("perfhive.work")).resolve("grown");
        Kept kept = new Kept();
        try (Experiment experiment = Experiment.builder().start()) {
            experiment.listen(kept).bind(new EventSource.Calls("write"), sources,
                    Machine.own("IO Write Bytes/sec"));
            experiment.startSection("write");
            awaitEvents(experiment, 0, 1);
            Files.write(file, new byte[4 << 20]);
            experiment.endSection("write");
        }
        long grown = kept.sections().get(0).growth().get(0).getAsLong();
        // Other threads of the tests write little meanwhile.
        assertTrue(grown >= 4 << 20 && grown < 8 << 20, grown + " bytes");
    }

    @Test
    void sectionsOfManyThreadsAreKeptApart() throws Exception {
        Kept kept = new Kept();
        int threads = 8;
        int rounds = 200;
        try (Experiment experiment = Experiment.builder().start()) {
            experiment.listen(kept).bind(new EventSource.Calls(), sources);
            List<Thread> all = IntStream.range(0, threads).mapToObj(number -> new Thread(() -> {
                for (int round = 0; round < rounds; round++) {
                    try (var outer = experiment.section("outer");
                            var inner = experiment.section("inner " + number)) {
                        experiment.call("point");
                    }
                }
            })).toList();
            all.forEach(Thread::start);
            for (Thread thread : all) {
                thread.join();
            }
            ExperimentEnd end = experiment.end();
            assertEquals(0, end.lost(), end.bindings().toString());
            assertEquals(0, end.unmatched());
            assertEquals(threads * rounds, end.section("outer").orElseThrow().count());
            assertEquals(rounds, end.section("inner 3").orElseThrow().count());
        }
        assertEquals(threads, kept.sections().stream().map(Section::thread).distinct().count());
    }

    @Test
    void aSectionOfAVirtualThreadHasNoThreadTime() throws Exception {
        Kept kept = new Kept();
        boolean areThere;
        try (Experiment experiment = Experiment.builder().start()) {
            experiment.listen(kept).bind(new EventSource.Calls("virtual"), sources);
            areThere = VirtualThreads.run(() -> {
                try (var section = experiment.section("virtual")) {
                    Thread.sleep(1);
                }
                return null;
            });
        }
        org.junit.jupiter.api.Assumptions.assumeTrue(areThere, "this JDK has no virtual threads");
        assertEquals(Optional.empty(), kept.sections().get(0).threadTime());
    }

    @Test
    void intervalAndThresholdRunSideBySide() throws Exception {
        Kept kept = new Kept();
        try (Experiment experiment = Experiment.builder().start()) {
            Duration millisecond = Duration.ofMillis(1);
            experiment.listen(kept)
                    .bind(new EventSource.Interval(millisecond), sources, Machine.own("Working Set"))
                    .bind(new EventSource.ThresholdCrossing(
                                    SensorName.parse(Machine.own("ID Process")), 1, 1, millisecond),
                            sources, Machine.own("Thread Count"));
            awaitEvents(experiment, 0, 20);
            awaitEvents(experiment, 1, 1);
            assertEquals(
                    List.of("interval 1ms", "above " + Machine.own("ID Process") + " 1.0"),
                    experiment.bindings().stream().map(BindingCounts::source).toList());
        }
        List<EventRecord> ticks = kept.records().stream()
                .filter(record -> record.name().equals("interval 1ms")).toList();
        assertTrue(ticks.size() >= 20);
        assertEquals(0, ticks.get(0).thread());
        assertEquals(0, (ticks.get(1).time() - ticks.get(0).time()) % 1_000_000);
        assertTrue(ticks.get(0).readings().get(0).value().getAsDouble() > 1 << 20);
        List<EventKind> crossings = kept.records().stream()
                .filter(record -> record.name().startsWith("above")).map(EventRecord::kind).toList();
        assertEquals(List.of(EventKind.START), crossings);
    }

    @Test
    void aListenerThatThrowsIsReportedAndHoldsUpNoOther() {
        Kept kept = new Kept();
        IllegalStateException thrown = new IllegalStateException("not today");
        try (Experiment experiment = Experiment.builder().capacity(4).start()) {
            experiment.listen(batch -> {
                throw thrown;
            }).listen(kept).bind(new EventSource.Calls("x"), sources);
            experiment.call("x");
            ExperimentEnd end = experiment.end();
            assertSame(thrown, end.listeners().get(0).failure().orElseThrow());
            assertTrue(end.listeners().get(0).isDone());
            assertEquals(new ListenerCounts(1, 0, Optional.empty(), true), end.listeners().get(1));
        }
        assertEquals(1, kept.records().size());
    }

    @Test
    void aSlowListenerLosesRecordsAndHoldsUpNothing() throws Exception {
        Kept kept = new Kept();
        CountDownLatch goOn = new CountDownLatch(1);
        try (Experiment experiment = Experiment.builder()
                .capacity(10).listenerTimeout(Duration.ofMillis(1)).start()) {
            experiment.listen(batch -> goOn.await()).listen(kept)
                    .bind(new EventSource.Interval(Duration.ofNanos(50_000)), sources);
            awaitEvents(experiment, 0, 500);
            ExperimentEnd end = experiment.end();
            ListenerCounts slow = end.listeners().get(0);
            assertFalse(slow.isDone());
            // What the outbox has no room for.
            assertTrue(slow.lost() > 0, slow.toString());
            goOn.countDown();
            long measured = end.events().get(0).count();
            // It goes on with what waits, however late.
            ListenerCounts later = experiment.end().listeners().get(0);
            long until = System.nanoTime() + 60_000_000_000L;
            while (!later.isDone() && System.nanoTime() < until) {
                later = experiment.listeners().get(0);
            }
            assertTrue(later.isDone());
            assertEquals(measured, later.delivered() + later.lost());
            assertEquals(
                    end.bindings().get(0).events(), measured + end.bindings().get(0).lost());
        }
    }

    @Test
    void endAndCloseFromAnyThreadAreDefined() throws Exception {
        Experiment experiment = Experiment.builder().start();
        CountDownLatch ended = new CountDownLatch(1);
        // The listener itself ends the experiment.
        experiment.listen(batch -> {
            experiment.end();
            experiment.close();
            ended.countDown();
        });
        experiment.bind(new EventSource.Calls("x"), sources);
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> callers = IntStream.range(0, 3).mapToObj(number -> new Thread(() -> {
            while (!stop.get()) {
                experiment.call("x");
                Thread.yield();
            }
        })).toList();
        callers.forEach(Thread::start);
        assertTrue(ended.await(60, TimeUnit.SECONDS));
        stop.set(true);
        for (Thread caller : callers) {
            caller.join();
        }
        ExperimentEnd end = experiment.end();
        assertEquals(end.events(), experiment.end().events());
        experiment.call("x");
        experiment.section("x").close();
        experiment.close();
        isClosed("experiment", () -> experiment.listen(batch -> {}));
        isClosed("experiment", () -> experiment.bind(new EventSource.Calls("y"), sources));
        isClosed("experiment", experiment::bindings);
    }

    @Test
    void listenersThatEndTheExperimentTogetherDoNotWaitForEachOther() throws Exception {
        Experiment experiment =
                Experiment.builder().listenerTimeout(Duration.ofDays(1)).start();
        CountDownLatch both = new CountDownLatch(2);
        CountDownLatch ended = new CountDownLatch(2);
        for (int listener = 0; listener < 2; listener++) {
            experiment.listen(batch -> {
                both.countDown();
                try {
                    both.await();
                } catch (InterruptedException stopped) {
                    throw new IllegalStateException(stopped);
                }
                experiment.end();
                ended.countDown();
            });
        }
        experiment.bind(new EventSource.Calls("x"), sources);
        experiment.call("x");
        assertTrue(ended.await(60, TimeUnit.SECONDS));
        experiment.close();
    }

    @Test
    void bindingAfterTheEndAndWrongBindingsAreExceptions() {
        try (Experiment experiment = Experiment.builder().start()) {
            EventSource calls = new EventSource.Calls("x");
            fails(Kind.UNKNOWN_SENSOR, () -> experiment.bind(calls, sources, "linux.procfs/No/Such"));
            fails(Kind.UNKNOWN_SOURCE, () -> experiment.bind(calls, sources, "no/No/Such"));
            fails(Kind.REFUSED, () -> experiment.bind(
                    calls, sources, Machine.sensor("Process", "Working Set") + "#*"));
            fails(Kind.BAD_NAME, () -> experiment.bind(new EventSource.Calls(""), sources));
            List<String> many = IntStream.range(0, 257).mapToObj(Integer::toString).toList();
            assertTrue(fails(Kind.REFUSED, () -> experiment.bind(new EventSource.Calls(many), sources)).isMisuse());
            experiment.bind(calls, sources);
            fails(Kind.STATE, () -> experiment.bind(new EventSource.Calls("y"), sources));
            assertThrows(NullPointerException.class, () -> experiment.call(null));
            try (DataSources own = new DataSources().add(new JavaSourceTest.Shop())) {
                String message = fails(Kind.REFUSED, () -> experiment.bind(
                        new EventSource.Interval(Duration.ofMillis(1)), own, JavaSourceTest.NAME + "/Orders/Count"))
                        .getMessage();
                assertTrue(message.contains("MeasurementContext"), message);
            }
            experiment.end();
            fails(Kind.STATE, () -> experiment.bind(
                    new EventSource.Interval(Duration.ofMillis(1)), sources));
            fails(Kind.STATE, () -> experiment.listen(batch -> {}));
        }
        fails(Kind.OTHER, () -> Experiment.builder().jsonLines(Path.of("/no/such/folder/x")).start());
        assertThrows(IllegalArgumentException.class, () -> Experiment.builder().capacity(1));
        assertThrows(IllegalArgumentException.class, () -> new EventSource.Interval(Duration.ZERO));
    }

    @Test
    void moreNamesThanThereIsRoomForAreMissed() {
        try (Experiment experiment = Experiment.builder().start()) {
            experiment.bind(new EventSource.Calls(), sources);
            IntStream.range(0, 262).forEach(number -> experiment.call("name " + number));
            ExperimentEnd end = experiment.end();
            assertEquals(256, end.bindings().get(0).events());
            assertEquals(6, end.bindings().get(0).missed());
        }
    }

    @Test
    void aCallOfAnEmptyNameIsMissedAndThrowsNothing() {
        Experiment experiment = Experiment.builder().start();
        try (experiment) {
            experiment.bind(new EventSource.Calls(), sources);
            experiment.call("");
            experiment.section("").close();
            ExperimentEnd end = experiment.end();
            assertEquals(0, end.bindings().get(0).events());
            assertEquals(3, end.bindings().get(0).missed());
            experiment.call("");
        }
        experiment.call("");
    }

    @Test
    void recordsAreWrittenAsJsonLines() throws Exception {
        Path file = Path.of(System.getProperty("perfhive.work")).resolve("records.jsonl");
        try (Experiment experiment = Experiment.builder().jsonLines(file).start()) {
            experiment.bind(new EventSource.Calls("x"), sources, Machine.own("ID Process"));
            experiment.call("x");
        }
        List<String> lines = Files.readAllLines(file);
        assertEquals(3, lines.size(), lines.toString());
        assertTrue(lines.get(1).contains("\"event\":\"x\"") && lines.get(1).contains("\"pid\":" + Machine.PID));
        assertTrue(lines.get(2).contains("\"kind\":\"end\""));
    }

    @Test
    void recordsAndSectionsAreEventsOfTheFlightRecorder() throws Exception {
        Path file = Path.of(System.getProperty("perfhive.work")).resolve("experiment.jfr");
        long begun = System.currentTimeMillis();
        try (Recording recording = new Recording()) {
            for (String name : List.of("Record", "RecordReading", "Section")) {
                recording.enable("org.perfhive." + name);
            }
            recording.start();
            try (Experiment experiment = Experiment.builder().start()) {
                experiment.listen(FlightRecorder::commit)
                        .bind(new EventSource.Calls("pay"), sources, Machine.own("ID Process"));
                experiment.section("pay").close();
            }
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        List<RecordedEvent> records = named(events, "Record");
        assertEquals(List.of("start", "end"),
                records.stream().map(event -> event.getString("kind")).toList());
        assertEquals("pay", records.get(0).getString("event"));
        assertEquals(Thread.currentThread().getId(), records.get(0).getLong("thread"));
        assertTrue(records.get(0).getInstant("at").toEpochMilli() >= begun - 1);
        assertEquals(2, named(events, "RecordReading").size());
        assertEquals(Machine.PID, named(events, "RecordReading").get(0).getDouble("value"));
        RecordedEvent section = named(events, "Section").get(0);
        assertEquals("pay", section.getString("section"));
        assertTrue(section.getDuration("sectionDuration").toNanos() > 0);
    }

    private static List<RecordedEvent> named(List<RecordedEvent> events, String name) {
        return events.stream()
                .filter(event -> event.getEventType().getName().equals("org.perfhive." + name)).toList();
    }

    @Test
    void aForgottenExperimentIsEndedByTheGarbageCollector() throws Exception {
        Kept kept = new Kept();
        int handles = Native.handles();
        forget(kept);
        long until = System.nanoTime() + 60_000_000_000L;
        while (Native.handles() > handles && System.nanoTime() < until) {
            System.gc();
            Thread.sleep(10);
        }
        assertTrue(Native.handles() <= handles, Native.handles() + " of " + handles);
        assertEquals(1, kept.records().size());
    }

    private static void forget(ExperimentListener listener) {
        Experiment experiment = Experiment.builder().start();
        experiment.listen(listener).bind(new EventSource.Calls("x"), sources);
        experiment.call("x");
    }

    @Test
    void anExperimentWithEventsOfItsOwnGoesOnWithoutAReferenceUntilItsEnd() throws Exception {
        EventSource every = new EventSource.Interval(Duration.ofMillis(5));
        for (boolean listensFirst : new boolean[] {true, false}) {
            Kept kept = new Kept();
            WeakReference<Experiment> forgotten = started(every, kept, listensFirst);
            System.gc();
            assertTrue(forgotten.get() != null);
            int before = kept.batches.size();
            long until = System.nanoTime() + 60_000_000_000L;
            while (kept.batches.size() == before && System.nanoTime() < until) {
                Thread.sleep(10);
            }
            assertTrue(kept.batches.size() > before);
            forgotten.get().end();
            while (forgotten.get() != null && System.nanoTime() < until) {
                System.gc();
                Thread.sleep(10);
            }
            assertTrue(forgotten.get() == null);
        }
    }

    private static WeakReference<Experiment> started(
            EventSource source, ExperimentListener listener, boolean listensFirst) {
        Experiment experiment = Experiment.builder().start();
        if (listensFirst) {
            experiment.listen(listener).bind(source, sources);
        } else {
            experiment.bind(source, sources).listen(listener);
        }
        return new WeakReference<>(experiment);
    }

    @Test
    void hundredsOfExperimentsLeaveNothingBehind() throws Exception {
        int handles = Native.handles();
        for (int round = 0; round < 300; round++) {
            try (Experiment experiment = Experiment.builder().capacity(2).start()) {
                experiment.listen(batch -> {}).bind(new EventSource.Calls("x"), sources);
                experiment.call("x");
            }
        }
        long until = System.nanoTime() + 60_000_000_000L;
        // A listener's thread closes its outbox after it is done.
        while (Native.handles() > handles && System.nanoTime() < until) {
            Thread.sleep(1);
        }
        assertTrue(Native.handles() <= handles, Native.handles() + " of " + handles);
        long threads = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("perfhive-listener")).count();
        assertEquals(0, threads);
    }
}
