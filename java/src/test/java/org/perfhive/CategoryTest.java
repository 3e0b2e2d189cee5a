package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.perfhive.Machine.fails;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.perfhive.PerfhiveException.Kind;

class CategoryTest {
    @Test
    void categoriesAreListedAndFoundInAnyLanguage() {
        assertTrue(Category.all().stream().anyMatch(category -> category.name().equals("Process")));
        assertTrue(Category.exists("prozess") && !Category.exists("no such category"));
        try (Category process = Category.of("PROCESS")) {
            assertEquals(230, process.index());
            assertTrue(process.hasInstances() && !process.help().isEmpty());
            assertTrue(process.counterNames().contains("Working Set"));
            assertTrue(process.hasCounter("working set") && process.hasCounter("180"));
            assertFalse(process.hasCounter("none"));
            assertTrue(process.hasInstance("_Total") && !process.hasInstance("no such program"));
            assertTrue(process.instanceNames().contains("java"));
            assertEquals(process.counterNames().size(), process.counters("java").size());
            fails(Kind.INSTANCES, () -> process.counters(""));
        }
        assertTrue(Category.instanceExists("_total", "Process"));
        assertFalse(Category.instanceExists("no such program", "Process"));
        assertTrue(Category.counterExists("Working Set", "Process"));
        assertFalse(Category.counterExists("Working Set", "Processor"));
        fails(Kind.UNKNOWN_CATEGORY, () -> Category.instanceExists("_Total", "Proces"));
        fails(Kind.UNKNOWN_CATEGORY, () -> Category.counterExists("Threads", "Proces"));
        try (Category threads = Category.of("Thread")) {
            Category.Instance one = threads.instances().stream()
                    .filter(instance -> instance.parent().equals(Optional.of("java")))
                    .findFirst()
                    .orElseThrow();
            assertTrue(one.label().startsWith("java/" + one.name()) && one.order() >= 0);
            assertTrue(threads.hasInstance(one.label()));
        }
        String near = fails(Kind.UNKNOWN_CATEGORY, () -> Category.of("Proces")).getMessage();
        assertTrue(near.contains("Process"), near);
    }

    @Test
    void aCounterHasValuesSamplesAndReasons() throws Exception {
        try (PerformanceCounter busy =
                new PerformanceCounter("Processor", "% Processor Time", "_Total")) {
            assertEquals(OptionalDouble.empty(), busy.nextValue());
            assertEquals("needs-two-samples", busy.whyNone().orElseThrow().code());
            CounterSample older = busy.nextSample().orElseThrow();
            Thread.sleep(50);
            double percent = busy.nextValue().orElseThrow();
            // Off by a tick or two of 10 ms, and so a little below 0 at times.
            assertTrue(percent > -50 && percent < 150, "" + percent);
            assertEquals(Optional.empty(), busy.whyNone());
            CounterSample newer = busy.nextSample().orElseThrow();
            assertTrue(newer.timeStamp() > older.timeStamp());
            assertTrue(CounterSample.calculate(older, newer).isPresent());
            assertEquals(OptionalDouble.empty(), CounterSample.calculate(newer));
            assertEquals("%", busy.counterType().unit());
            assertEquals("Processor", busy.categoryName());
            assertEquals("_Total", busy.instanceName());
            assertFalse(busy.counterHelp().isEmpty());
            busy.reset();
            assertEquals(OptionalDouble.empty(), busy.nextValue());
            assertEquals(Optional.empty(), busy.nextText());
        }
        try (PerformanceCounter none = new PerformanceCounter("Process", "ID Process", "no such")) {
            assertEquals(OptionalDouble.empty(), none.nextValue());
            assertEquals("no-such-instance", none.whyNone().orElseThrow().code());
            assertEquals(OptionalLong.empty(), none.rawValue());
            assertEquals(Optional.empty(), none.identity());
        }
        try (PerformanceCounter id = new PerformanceCounter("Process V2", "ID Process", "java:" + Machine.PID)) {
            assertEquals(Optional.empty(), id.identity());
            assertEquals(Machine.PID, id.nextValue().orElseThrow());
            assertEquals(Machine.PID, id.rawValue().orElseThrow());
            Identity identity = id.identity().orElseThrow();
            assertEquals(OptionalLong.of(Machine.PID), identity.processId());
            id.nextValue();
            assertEquals(Optional.of(identity), id.identity());
            assertTrue(id.faults().stream().allMatch(fault -> !fault.message().isEmpty()));
        }
        Path copy = Files.createDirectories(Path.of(System.getProperty("perfhive.work"), "copy", "proc"));
        Files.writeString(copy.resolve("meminfo"), "not what it should be");
        try (CounterDataSource source = CounterDataSource.open("proc:" + copy.getParent());
                PerformanceCounter broken =
                        new PerformanceCounter(source, "Memory", "Available Bytes", "")) {
            assertEquals(OptionalDouble.empty(), broken.nextValue());
            Fault fault = broken.faults().get(0);
            assertTrue(fault.lostData(), fault.toString());
        }
        fails(Kind.UNKNOWN_COUNTER, () -> new PerformanceCounter("Memory", "Availble Bytes", ""));
        CounterSample fraction = new CounterSample(30, 40, 0, 0, 0, 0, 0, 0x20020400);
        assertEquals(OptionalDouble.of(75), CounterSample.calculate(fraction));
    }

    @Test
    void allOfACategoryIsReadInOneSample() throws Exception {
        try (Category process = Category.of("Process");
                CategoryData older = process.read()) {
            assertTrue(Machine.work(50_000_000) > 0);
            try (CategoryData newer = process.read()) {
                Duration age = Duration.between(newer.time().orElseThrow(), Instant.now());
                assertTrue(age.abs().compareTo(Duration.ofMinutes(1)) < 0, age.toString());
                assertTrue(newer.instances().contains("_Total"));
                CategoryData.Values alone = newer.values();
                assertTrue(alone.get("_total", "working set").orElseThrow() > 0);
                assertEquals("needs-two-samples",
                        alone.whyNone("_Total", "% Processor Time").orElseThrow().code());
                CategoryData.Values since = newer.valuesSince(older);
                assertTrue(since.get("_Total", "Prozessorzeit (%)").orElseThrow() > 0);
                assertEquals(OptionalDouble.empty(), since.get("none", "Working Set"));
                assertEquals("no-such-instance",
                        since.whyNone("none", "Working Set").orElseThrow().code());
                CounterSample set = newer.sample("_Total", "Working Set").orElseThrow();
                assertEquals(alone.get("_Total", "Working Set").orElseThrow(), set.rawValue());
                assertEquals(Optional.empty(), newer.text("_Total", "Working Set"));
                assertEquals(Optional.empty(), newer.sample("none", "Working Set"));
                assertEquals(Optional.empty(), newer.text("_Total", "none"));
                double[] sets = alone.column("arbeitsseiten");
                assertEquals(newer.instances().size(), sets.length);
                for (int place = 0; place < sets.length; place++) {
                    OptionalDouble one = alone.get(newer.instances().get(place), "Working Set");
                    assertEquals(one.orElse(Double.NaN), sets[place]);
                }
                fails(Kind.UNKNOWN_COUNTER, () -> alone.column("none"));
                List<String> counters =
                        newer.counters().stream().map(CategoryData.Counter::name).toList();
                assertTrue(counters.contains("Thread Count"));
            }
        }
        try (Category memory = Category.of("Memory"); CategoryData data = memory.read()) {
            assertEquals(List.of(""), data.instances());
            assertTrue(data.values().get("", "Available Bytes").orElseThrow() > 0);
        }
    }
}
